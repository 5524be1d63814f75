package grant

import "countersign/internal/refusal"

// Covers is Judge for a directory that is only gone through: includes, which
// are about what is in it, do not count.
func (s Set) Covers(op Op, path string) (Grant, error) {
	if !clean(path) {
		return Grant{}, refusal.New(refusal.PathNotClean, what(op, path), "")
	}
	lists := [][]Grant{s.Reads}
	if op == Write {
		lists = append(lists, s.Writes)
	}
	var found *Grant
	for i, list := range lists {
		if found, _ = longest(list, path); found == nil {
			return Grant{}, refusal.New(refusal.NotGranted, what(op, path), "for %s", Op(i))
		}
	}
	if e := s.Deny.covers(s.Home, path); e != nil {
		return Grant{}, refusal.New(refusal.Denied, what(op, path), "entry %s: %s", e.Name, e.Why)
	}
	return *found, nil
}

// MayHoldKey says whether a path's name is one of those whose files are denied
// when they hold a private key: of such a file the whole content has to be
// judged by DeniedByContent before any of it is shown.
func (s Set) MayHoldKey(path string) bool {
	return s.DeniedByContent(Read, path, []byte("-----BEGIN PRIVATE KEY-----\n")) != nil
}
