package protocol

import "countersign/internal/action"

// The reader's answers about repositories.
const (
	GitStatus   = "executor.git-status"
	GitLog      = "executor.git-log"
	GitDiff     = "executor.git-diff"
	GitShow     = "executor.git-show"
	GitBlame    = "executor.git-blame"
	GitBranches = "executor.git-branches"
)

// Bounds of one answer. What is left out is counted, and asked for with Skip.
const (
	MaxGitEntries = 10_000  // paths of a status, names of a tree, branches
	MaxGitCommits = 1_000   // of a log
	MaxGitFiles   = 200     // of a diff, with their patches
	MaxGitPatch   = 1 << 20 // bytes of one file's patch, and of a file that is shown
	MaxGitText    = 4 << 20 // bytes of all text of an answer
	MaxGitLines   = 10_000  // of a blame
)

// GitRun says which git a reader or scribe runs, behind which walls, or why it
// runs none.
type GitRun struct {
	Path    string   `cbor:"path" json:"path"`
	Version string   `cbor:"version" json:"version"`
	Walls   []string `cbor:"walls" json:"walls"`
	Why     string   `cbor:"why,omitempty" json:"why,omitempty"`
}

// GitAbout opens every answer about a repository.
type GitAbout struct {
	Policy     action.Hash `cbor:"policy" json:"policy"`
	Repository action.Path `cbor:"repository" json:"repository"`
	Notes      []string    `cbor:"notes,omitempty" json:"notes,omitempty"` // what of the person's own configuration does not count
}

// GitStatusParams asks what is changed in the work tree with this root.
type GitStatusParams struct {
	Repository action.Path `cbor:"repository"`
	Skip       uint64      `cbor:"skip,omitempty"`
	Limit      uint64      `cbor:"limit,omitempty"` // 0 is as many as fit
}

// GitStatusResult says where the repository stands. Paths in answers are
// relative to its root.
type GitStatusResult struct {
	GitAbout
	Branch   string      `cbor:"branch" json:"branch"`     // short name; empty where the head is detached
	Commit   string      `cbor:"commit" json:"commit"`     // empty before the first
	Upstream string      `cbor:"upstream" json:"upstream"` // short name, or empty
	Kinds    []string    `cbor:"kinds" json:"kinds"`       // what is unusual about it
	Doing    []string    `cbor:"doing" json:"doing"`       // what was begun and not finished
	Entries  []GitChange `cbor:"entries" json:"entries"`
	More     uint64      `cbor:"more,omitempty" json:"more,omitempty"`
}

// GitChange is one changed or untracked path: letters as `git status` has them,
// `.` for unchanged and `?` for untracked.
type GitChange struct {
	Path      action.Path `cbor:"path" json:"path"`
	Index     string      `cbor:"index" json:"index"`
	Work      string      `cbor:"work" json:"work"`
	Unmerged  bool        `cbor:"unmerged,omitempty" json:"unmerged,omitempty"`
	Submodule bool        `cbor:"submodule,omitempty" json:"submodule,omitempty"`
}

// GitLogParams asks for commits, newest first as `git log` orders them. Rev
// defaults to HEAD; with Not, its ancestors are left out.
type GitLogParams struct {
	Repository action.Path   `cbor:"repository"`
	Rev        string        `cbor:"rev,omitempty"`
	Not        string        `cbor:"not,omitempty"`
	Paths      []action.Path `cbor:"paths,omitempty"`
	Skip       uint64        `cbor:"skip,omitempty"`
	Limit      uint64        `cbor:"limit,omitempty"` // 0 is 50
}

// GitLogResult has commits. More says that there are older ones.
type GitLogResult struct {
	GitAbout
	Commits []GitCommit `cbor:"commits" json:"commits"`
	More    bool        `cbor:"more,omitempty" json:"more,omitempty"`
}

// GitCommit is one commit. Text that is not UTF-8 has replacement characters.
type GitCommit struct {
	Hash      string   `cbor:"hash" json:"hash"`
	Tree      string   `cbor:"tree" json:"tree"`
	Parents   []string `cbor:"parents,omitempty" json:"parents,omitempty"`
	Author    GitWho   `cbor:"author" json:"author"`
	Committer GitWho   `cbor:"committer" json:"committer"`
	Message   string   `cbor:"message" json:"message"`
}

// GitWho is a name, an address and a time, as the commit has them.
type GitWho struct {
	Name string `cbor:"name" json:"name"`
	Mail string `cbor:"mail" json:"mail"`
	Time string `cbor:"time" json:"time"` // RFC 3339; empty where the commit's is none
}

// GitDiffParams asks for changes: of the index or, without Index, of the work
// tree, against the index or, with From, a commit; or, with To, between two
// commits.
type GitDiffParams struct {
	Repository action.Path   `cbor:"repository"`
	From       string        `cbor:"from,omitempty"`
	To         string        `cbor:"to,omitempty"`
	Index      bool          `cbor:"index,omitempty"`
	Paths      []action.Path `cbor:"paths,omitempty"`
	Skip       uint64        `cbor:"skip,omitempty"`
	Limit      uint64        `cbor:"limit,omitempty"` // files; 0 is as many as fit
	Names      bool          `cbor:"names,omitempty"` // without patches
}

// GitDiffResult has the changed files, in the order of their paths.
type GitDiffResult struct {
	GitAbout
	Files []GitFile `cbor:"files" json:"files"`
	More  uint64    `cbor:"more,omitempty" json:"more,omitempty"`
}

// GitFile is one changed file. Its patch applies with `git apply`, or is left
// out: then Left says why.
type GitFile struct {
	Path    action.Path `cbor:"path" json:"path"`
	Status  string      `cbor:"status" json:"status"` // a letter for each parent
	OldMode string      `cbor:"old-mode" json:"old_mode"`
	NewMode string      `cbor:"new-mode" json:"new_mode"`
	Old     string      `cbor:"old" json:"old"` // a hash; zeros for none, or not known yet
	New     string      `cbor:"new" json:"new"`
	Patch   string      `cbor:"patch,omitempty" json:"patch,omitempty"`
	Raw     []byte      `cbor:"raw,omitempty" json:"raw,omitempty"` // the patch, where it is not UTF-8
	Left    string      `cbor:"left,omitempty" json:"left,omitempty"`
}

// GitShowParams asks for a commit and what it changed, or, with a path, for
// what stood there in that commit.
type GitShowParams struct {
	Repository action.Path `cbor:"repository"`
	Rev        string      `cbor:"rev"`
	Path       action.Path `cbor:"path,omitempty"`
	Skip       uint64      `cbor:"skip,omitempty"`
	Limit      uint64      `cbor:"limit,omitempty"`
	Names      bool        `cbor:"names,omitempty"`
}

// GitShowResult is a commit with its files, or an entry of its tree with its
// content.
type GitShowResult struct {
	GitAbout
	Commit *GitCommit `cbor:"commit,omitempty" json:"commit,omitempty"`
	Files  []GitFile  `cbor:"files,omitempty" json:"files,omitempty"`
	More   uint64     `cbor:"more,omitempty" json:"more,omitempty"`

	Entry   *GitEntry  `cbor:"entry,omitempty" json:"entry,omitempty"`
	Text    string     `cbor:"text,omitempty" json:"text,omitempty"`
	Raw     []byte     `cbor:"raw,omitempty" json:"raw,omitempty"` // the content, where it is not UTF-8
	Entries []GitEntry `cbor:"entries,omitempty" json:"entries,omitempty"`
}

// GitEntry is an entry of a tree.
type GitEntry struct {
	Path action.Path `cbor:"path" json:"path"`
	Mode string      `cbor:"mode" json:"mode"`
	Type string      `cbor:"type" json:"type"` // blob, tree or commit
	Hash string      `cbor:"hash" json:"hash"`
	Size uint64      `cbor:"size" json:"size"` // of a blob, in bytes
}

// GitBlameParams asks who last changed lines of a file: in a commit or, without
// Rev, in the work tree. Lines count from 1; Lines of 0 asks for as many as fit.
type GitBlameParams struct {
	Repository action.Path `cbor:"repository"`
	Rev        string      `cbor:"rev,omitempty"`
	Path       action.Path `cbor:"path"`
	From       uint64      `cbor:"from,omitempty"`
	Lines      uint64      `cbor:"lines,omitempty"`
}

// GitBlameResult has the lines, and the commits that they are from. More says
// that there are further lines.
type GitBlameResult struct {
	GitAbout
	Lines   []GitBlameLine   `cbor:"lines" json:"lines"`
	Commits []GitBlameCommit `cbor:"commits" json:"commits"`
	More    bool             `cbor:"more,omitempty" json:"more,omitempty"`
}

// GitBlameLine is one line: where it stood when it was last changed.
type GitBlameLine struct {
	Commit string `cbor:"commit" json:"commit"` // zeros: not committed
	Then   uint64 `cbor:"then" json:"then"`
	Now    uint64 `cbor:"now" json:"now"`
	Text   string `cbor:"text,omitempty" json:"text,omitempty"`
	Raw    []byte `cbor:"raw,omitempty" json:"raw,omitempty"` // the line, where it is not UTF-8
}

// GitBlameCommit is a commit that lines are from. Its path is left out where
// the agent may not see it.
type GitBlameCommit struct {
	Hash    string      `cbor:"hash" json:"hash"`
	Author  GitWho      `cbor:"author" json:"author"`
	Subject string      `cbor:"subject" json:"subject"`
	Path    action.Path `cbor:"path,omitempty" json:"path,omitempty"`
}

// GitBranchesParams asks for branches, those of remotes among them.
type GitBranchesParams struct {
	Repository action.Path `cbor:"repository"`
	Skip       uint64      `cbor:"skip,omitempty"`
	Limit      uint64      `cbor:"limit,omitempty"`
}

// GitBranchesResult has them in the order of their names.
type GitBranchesResult struct {
	GitAbout
	Branches []GitBranch `cbor:"branches" json:"branches"`
	More     uint64      `cbor:"more,omitempty" json:"more,omitempty"`
}

// GitBranch is one reference.
type GitBranch struct {
	Name     string `cbor:"name" json:"name"` // whole, as refs/heads/main
	Hash     string `cbor:"hash" json:"hash"`
	Head     bool   `cbor:"head,omitempty" json:"head,omitempty"` // it is checked out here
	Upstream string `cbor:"upstream,omitempty" json:"upstream,omitempty"`
	Symbolic string `cbor:"symbolic,omitempty" json:"symbolic,omitempty"` // the reference it stands for
	Time     string `cbor:"time" json:"time"`
	Subject  string `cbor:"subject" json:"subject"`
}
