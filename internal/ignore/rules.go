package ignore

// Rules is the ignore lists that hold in one directory, the nearest first. It
// never changes; nil ignores nothing.
type Rules struct {
	list  *List
	dir   string // that the list stands in
	above *Rules
}

// With puts a list in front: dir is the directory it stands in. Directories and
// paths of one Rules are relative to one place, which is "".
func (r *Rules) With(list *List, dir string) *Rules {
	return &Rules{list: list, dir: dir, above: r}
}

// Ignores says whether a path whose directory is not ignored is. dir is its
// directory, one that every list of r stands in or above.
func (r *Rules) Ignores(dir, name string, isDir bool) bool {
	path := name
	if dir != "" && r != nil {
		path = dir + "/" + name
	}
	for ; r != nil; r = r.above {
		switch r.list.Match(beneath(path, r.dir), name, isDir) {
		case Ignored:
			return true
		case Kept:
			return false
		}
	}
	return false
}

// Naming gives the rules as they stand for somebody who named a directory:
// List.Naming of each list.
func (r *Rules) Naming(dir string) *Rules {
	if r == nil {
		return nil
	}
	return &Rules{list: r.list.Naming(beneath(dir, r.dir)), dir: r.dir, above: r.above.Naming(dir)}
}

// beneath gives a path relative to a directory that is or holds it.
func beneath(path, dir string) string {
	switch {
	case dir == "":
		return path
	case len(path) <= len(dir):
		return ""
	}
	return path[len(dir)+1:]
}
