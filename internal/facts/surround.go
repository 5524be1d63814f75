package facts

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/refusal"
)

// surround notes what stands around a place that is to be written, by which the
// file would be more than its own path says.
func (f Finder) surround(found *Found, home *beneath.Root) error {
	inHome := strings.TrimPrefix(found.Place.Real, strings.TrimSuffix(home.Real, "/")+"/")
	if len(f.Linked) > 0 {
		var names []string
		patience := cmp.Or(f.Patience, new(beneath.Patience))
		if !patience.Try("the links of "+f.Home, func() { names = aliases(home, f.Linked, inHome) }, func() {}) {
			return refusal.New(refusal.DiskError, found.Path.String(), "the links of the home do not answer")
		}
		if len(names) > action.MaxAliases {
			return refusal.New(refusal.Link, found.Path.String(), "over %d names of the home lead there", action.MaxAliases)
		}
		for _, name := range names {
			if at := action.Path(f.Home + "/" + name); at != found.Real && at != found.Path {
				found.aliases = append(found.aliases, at)
			}
		}
	}
	found.repository = besideHead(found.Place, strings.Count(inHome, "/")-len(found.Place.Missing))
	return nil
}

// aliases gives the names of the home, among and beneath those that are linked,
// by which a path beneath the home is reached through a link.
func aliases(home *beneath.Root, linked []string, inHome string) []string {
	var out []string
	for _, name := range linked {
		if !home.IsLink(name) {
			continue // as nearly every name is
		}
		to, ok := home.Leads(name)
		if !ok {
			continue
		}
		rest, under := strings.CutPrefix(inHome, to)
		if under && (rest == "" || rest[0] == '/') && !slices.Contains(out, name+rest) {
			out = append(out, name+rest)
		}
	}
	return out
}

// besideHead says whether a directory on the way to a place, up to so many above
// its own, has a file HEAD: the one that git asks for before all others when it
// takes a directory for a repository's own.
func besideHead(p *beneath.Place, above int) bool {
	name := "HEAD"
	for range above + 1 {
		var st unix.Stat_t
		err := unix.Fstatat(int(p.Dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if kind := st.Mode & unix.S_IFMT; err == nil && (kind == unix.S_IFREG || kind == unix.S_IFLNK) {
			return true
		}
		name = "../" + name
	}
	return false
}
