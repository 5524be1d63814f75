package gitrun

// Vector names a fixed list of arguments.
type Vector string

// The vectors. Those that change a repository run in a scribe's runner alone.
const (
	Version       Vector = "version"
	Status        Vector = "status"
	Log           Vector = "log"
	ChangedInWork Vector = "changed-in-work"       // names: index to work tree
	ChangedSince  Vector = "changed-since"         // names: a commit to work tree
	ChangedIndex  Vector = "changed-in-index"      // names: a commit, or nothing, to index
	ChangedTrees  Vector = "changed-between-trees" // names: a commit to another
	ChangedCommit Vector = "changed-by-commit"     // names: its parents to a commit
	PatchWork     Vector = "patch-of-work"
	PatchSince    Vector = "patch-since"
	PatchIndex    Vector = "patch-of-index"
	PatchTrees    Vector = "patch-between-trees"
	PatchCommit   Vector = "patch-of-commit"
	Blame         Vector = "blame"
	Branches      Vector = "branches"
	Entry         Vector = "entry"  // of a tree, by its path
	Object        Vector = "object" // a blob's content, by its hash
	Attributes    Vector = "attributes"
	Resolve       Vector = "resolve" // a revision to a commit's hash
	Listed        Vector = "listed"  // every entry of the index, with mode, hash and stage
	Hashes        Vector = "hashes"  // of files in the work tree, as they would be stored: their paths are the input
	Objects       Vector = "objects" // the content of many blobs: their hashes are the input
	Within        Vector = "within"  // fails with 1 where one commit is no ancestor of another

	Stage      Vector = "stage"       // what stands at the paths of the input, into the index
	WriteTree  Vector = "write-tree"  // of the index
	CommitTree Vector = "commit-tree" // the message is the input
	MoveRef    Vector = "move-ref"    // from what it must hold
	DropRef    Vector = "drop-ref"    // from what it must hold to nothing
)

// A vector's argument that stands in braces is a place for values: none, one or
// more arguments take it. What the values may be, compose judges.
const (
	placeRev     = "{rev}"      // a commit
	placeNot     = "{not}"      // a commit whose ancestors are left out
	placeFrom    = "{from}"     // a commit
	placeTree    = "{tree}"     // a commit, as the tree it has
	placeBlob    = "{blob}"     // a whole hash
	placeCount   = "{count}"    // a number
	placeSkip    = "{skip}"     // a number
	placeLines   = "{lines}"    // a range of lines
	placeNewTree = "{new-tree}" // a whole hash
	placeParent  = "{parent}"   // a whole hash, behind -p
	placeRef     = "{ref}"      // a branch, or HEAD
	placeNew     = "{new}"      // a whole hash
	placeOld     = "{old}"      // a whole hash
	placePaths   = "{paths}"    // paths in the work tree, as they are, behind --
)

// vector is one row of the table.
type vector struct {
	args   []string
	stdin  bool // takes its input from the caller
	writes bool // changes a repository
}

// always stands before every vector.
func always() []string {
	return []string{"--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}
}

// LogFields is how many fields the log vector gives of a commit, each ended by
// a zero byte: hash, tree, parents, author's name, address and time, committer's
// name, address and time, message.
const LogFields = 10

// BranchFields is how many fields the branches vector gives of a reference,
// parted by zero bytes and ended by a newline: `*` where it is checked out, name,
// hash, type, name of its upstream, name it stands for, time, subject.
const BranchFields = 8

// vectors is everything that git is ever asked.
func vectors() map[Vector]vector {
	names := []string{"--raw", "-z", "--no-abbrev"}
	patch := []string{"--patch", "--full-index"}
	return map[Vector]vector{
		Version: {args: []string{"version"}},
		Status: {args: []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
			"--ignore-submodules=dirty", "--no-ahead-behind", placePaths}},
		Log: {args: []string{"log", "-z", placeCount, placeSkip, "--no-show-signature", "--no-mailmap", "--no-notes", "--no-decorate",
			"--no-ext-diff", "--no-textconv", "--no-color", "--no-follow", "--no-patch", "--encoding=UTF-8",
			"--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B", "--end-of-options", placeRev, placeNot, placePaths}},

		ChangedInWork: {args: diff(names, nil)},
		ChangedSince:  {args: diff(names, nil, placeRev)},
		ChangedIndex:  {args: diff(names, []string{"--cached"}, placeRev)},
		ChangedTrees:  {args: diff(names, nil, placeFrom, placeRev)},
		ChangedCommit: {args: diffTree(append(names, "-c"))},
		PatchWork:     {args: diff(patch, nil)},
		PatchSince:    {args: diff(patch, nil, placeRev)},
		PatchIndex:    {args: diff(patch, []string{"--cached"}, placeRev)},
		PatchTrees:    {args: diff(patch, nil, placeFrom, placeRev)},
		PatchCommit:   {args: diffTree(append(patch, "--cc"))},

		Blame: {args: []string{"blame", "--porcelain", "--root", "--no-ignore-revs-file", "--no-textconv", "--encoding=UTF-8", placeLines, placeRev, placePaths}},
		Branches: {args: []string{"for-each-ref", "--sort=refname", "--format=%(HEAD)%00%(refname)%00%(objectname)%00%(objecttype)%00%(upstream)%00" +
			"%(symref)%00%(committerdate:iso-strict)%00%(contents:subject)", "refs/heads", "refs/remotes"}},
		Entry:      {args: []string{"ls-tree", "-z", "-l", "--full-tree", placeTree, placePaths}},
		Object:     {args: []string{"cat-file", "blob", placeBlob}},
		Resolve:    {args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", placeRev}},
		Attributes: {args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: true},
		Listed:     {args: []string{"ls-files", "--stage", "-z", "--full-name"}},
		Hashes:     {args: []string{"hash-object", "-t", "blob", "--stdin-paths"}, stdin: true},
		Objects:    {args: []string{"cat-file", "--batch"}, stdin: true},
		Within:     {args: []string{"merge-base", "--is-ancestor", placeNew, placeRev}},

		Stage:      {args: []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}, stdin: true, writes: true},
		WriteTree:  {args: []string{"write-tree"}, writes: true},
		CommitTree: {args: []string{"commit-tree", "--no-gpg-sign", placeParent, "-F", "-", placeNewTree}, stdin: true, writes: true},
		MoveRef:    {args: []string{"update-ref", "--create-reflog", "-m", "commit by Countersign", placeRef, placeNew, placeOld}, writes: true},
		DropRef:    {args: []string{"update-ref", "-d", placeRef, placeOld}, writes: true},
	}
}

// quietly is what every diff is told besides: nothing that an attribute names is
// run, no other order, no detection of renames, which could show a name that is
// left out, and prefixes that are known.
func quietly() []string {
	return []string{"--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--submodule=short",
		"--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "-O/dev/null"}
}

func diff(what, against []string, revs ...string) []string {
	args := append([]string{"diff"}, what...)
	args = append(append(args, quietly()...), against...)
	return append(append(append(args, "--end-of-options"), revs...), placePaths)
}

func diffTree(what []string) []string {
	args := append([]string{"diff-tree", "-r", "--root", "--no-commit-id"}, what...)
	return append(append(args, quietly()...), "--end-of-options", placeRev, placePaths)
}
