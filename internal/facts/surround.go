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
func (f Finder) surround(found *Found) error {
	inHome := strings.TrimPrefix(string(found.Real), f.Home+"/")
	if len(f.Linked) > 0 {
		var names []string
		var err error
		patience := cmp.Or(f.Patience, new(beneath.Patience))
		if !patience.Try("the links of "+f.Home, func() { names, err = f.aliases(inHome) }, func() {}) {
			return refusal.New(refusal.Unavailable, found.Path.String(), "what a link of the home leads to does not answer")
		}
		if err != nil {
			return beneath.Refuse("the home "+action.Path(f.Home).String(), err)
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
// by which a path beneath the home is reached through a link. It opens the home
// for itself: it may go on after whoever asked has gone.
func (f Finder) aliases(inHome string) ([]string, error) {
	home, err := beneath.OpenRoot(f.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	var out []string
	for _, name := range f.Linked {
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
	return out, nil
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
