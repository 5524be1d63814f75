package facts

import (
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
	links, err := f.links(found.Path.String())
	if err != nil {
		return err
	}
	names := aliases(links, inHome)
	if len(names) > action.MaxAliases {
		return refusal.New(refusal.Link, found.Path.String(), "over %d names of the home lead there", action.MaxAliases)
	}
	for _, name := range names {
		if at := action.Path(f.Home + "/" + name); at != found.Real && at != found.Path {
			found.aliases = append(found.aliases, at)
		}
	}
	found.repository = besideHead(found.Place, strings.Count(inHome, "/")-len(found.Place.Missing))
	return nil
}

// link is a name of the home, and where in the home it leads.
type link struct{ name, to string }

// links gives what links of the home there are among the names that are looked
// at.
func (f Finder) links(what string) ([]link, error) {
	if len(f.Linked) == 0 {
		return nil, nil
	}
	if f.once != nil && f.once.asked {
		return f.once.links, nil
	}
	var links []link
	var err error // neither is looked at where no answer comes
	if !f.patience().Try("the links of "+f.Home, func() { links, err = f.linked() }, func() {}) {
		return nil, refusal.New(refusal.Unavailable, what, "what a link of the home leads to does not answer")
	}
	if err != nil {
		return nil, beneath.Refuse("the home "+action.Path(f.Home).String(), err)
	}
	if f.once != nil {
		f.once.links, f.once.asked = links, true
	}
	return links, nil
}

// linked looks at the names. It opens the home for itself: it may go on after
// whoever asked has gone.
func (f Finder) linked() (links []link, err error) {
	home, err := beneath.OpenRoot(f.Home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	for _, name := range f.Linked {
		if !home.IsLink(name) {
			continue // as nearly every name is
		}
		if to, ok := home.Leads(name); ok {
			links = append(links, link{name, to})
		}
	}
	return links, nil
}

// aliases gives the names of the home, among and beneath those that are linked,
// by which a path beneath the home is reached through a link.
func aliases(links []link, inHome string) (names []string) {
	for _, l := range links {
		rest, under := strings.CutPrefix(inHome, l.to)
		if under && (rest == "" || rest[0] == '/') && !slices.Contains(names, l.name+rest) {
			names = append(names, l.name+rest)
		}
	}
	return names
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
