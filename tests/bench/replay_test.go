package bench

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/classify"
	"countersign/internal/grant"
	"countersign/internal/policy"
	"countersign/internal/refusal"
)

// replayPolicy is what a new installation has, with one write grant.
const replayPolicy = `version = 1
[persons.alice]
uid = 1000
home = "/home/alice"
read = [{ root = "~" }]
write = [{ root = "~/projects" }]
[agents.claude]
uid = 970
persons = ["alice"]
`

// mustAsk is written without a look at the tables: places of a repository of
// which a silent change would be a breach.
var mustAsk = regexp.MustCompile(`(?i)(^|/)(\.github/workflows/|\.gitlab-ci\.yml$|\.circleci/|\.travis\.yml$|\.vscode/|\.idea/|\.devcontainer/|\.husky/|\.githooks/|` +
	`\.envrc$|\.cargo/config|\.claude/|\.cursor/|\.mcp\.json$|(claude|agents|gemini)\.md$|\.pre-commit-config\.yaml$|lefthook\.yml$|\.gitattributes$|\.gitmodules$|` +
	`\.npmrc$|\.yarnrc|.*\.pem$|.*\.desktop$|.*\.service$|flake\.nix$|\.tool-versions$|node_modules/)`)

// bots make commits that no agent in a home makes: they move versions from
// outside, and mostly in what a build server runs.
var bots = regexp.MustCompile(`(?i)\[bot\]|dependabot|renovate|pre-commit-ci|github-actions`)

// T4: of the last commits of a real repository, each file change taken for an
// agent's, most land by policy, and none at a place that runs later. What asked
// is printed, by reason and entry. COUNTERSIGN_REPLAY lists repositories, bare
// or not, and COUNTERSIGN_REPLAY_COMMITS how many commits of people back;
// COUNTERSIGN_REPLAY_POLICY is put behind a policy as a new installation has it.
func TestReplay(t *testing.T) {
	repos := filepath.SplitList(os.Getenv("COUNTERSIGN_REPLAY"))
	if len(repos) == 0 {
		t.Skip("COUNTERSIGN_REPLAY names no repository")
	}
	commits := 500
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_REPLAY_COMMITS")); err == nil {
		commits = n
	}
	p, err := policy.Parse([]byte(replayPolicy + os.Getenv("COUNTERSIGN_REPLAY_POLICY")))
	if err != nil {
		t.Fatal(err)
	}
	all := newTally()
	for _, repo := range repos {
		one := replay(t, p, repo, commits)
		one.print(repo)
		all.add(one)
	}
	if len(repos) > 1 {
		all.print("all")
	}
}

// tally counts what became of changes.
type tally struct {
	commits, asking         int            // commits, and those of which a change asks
	changes, asks, refused  int            // file changes
	reasons, entries, alone map[string]int // changes by reason, by entry, and those that one entry alone asks for
	paths                   map[string]map[string]int
}

func newTally() *tally {
	return &tally{reasons: map[string]int{}, entries: map[string]int{}, alone: map[string]int{}, paths: map[string]map[string]int{}}
}

func (c *tally) add(o *tally) {
	c.commits, c.asking = c.commits+o.commits, c.asking+o.asking
	c.changes, c.asks, c.refused = c.changes+o.changes, c.asks+o.asks, c.refused+o.refused
	for _, pair := range [][2]map[string]int{{c.reasons, o.reasons}, {c.entries, o.entries}, {c.alone, o.alone}} {
		for k, n := range pair[1] {
			pair[0][k] += n
		}
	}
}

func (c *tally) print(name string) {
	part := func(n, of int) string {
		return fmt.Sprintf("%d of %d (%.1f %%)", n, of, 100*float64(n)/float64(max(of, 1)))
	}
	fmt.Printf("== %s\nchanges that ask: %s; refused: %d; commits that ask: %s\n", name, part(c.asks, c.changes), c.refused, part(c.asking, c.commits))
	for _, k := range slices.SortedFunc(maps.Keys(c.entries), func(a, b string) int { return cmp.Or(c.entries[b]-c.entries[a], cmp.Compare(a, b)) }) {
		fmt.Printf("%6d  %5.2f %%  alone %5.2f %%  %s", c.entries[k], 100*float64(c.entries[k])/float64(c.changes), 100*float64(c.alone[k])/float64(c.changes), k)
		paths := slices.SortedFunc(maps.Keys(c.paths[k]), func(a, b string) int { return cmp.Or(c.paths[k][b]-c.paths[k][a], cmp.Compare(a, b)) })
		fmt.Printf("  %s\n", strings.Join(paths[:min(4, len(paths))], " "))
	}
}

// fileChange is one file of one commit.
type fileChange struct {
	path             string
	oldMode, newMode uint32
	old, now         string // object names; all zeros for none
}

func replay(t *testing.T, p *policy.Policy, repo string, n int) *tally {
	blobs := newBlobs(t, repo)
	defer blobs.close()
	c := newTally()
	for _, changes := range logOf(t, repo, n) {
		c.commits++
		asks := false
		for _, f := range changes {
			asks = c.judge(t, p, f, blobs) || asks
		}
		if asks {
			c.asking++
		}
	}
	return c
}

// judge takes one change for an agent's, and says whether it asks.
func (c *tally) judge(t *testing.T, p *policy.Policy, f fileChange, blobs *blobs) bool {
	alice := p.Persons["alice"]
	path := action.Path("/home/alice/projects/repository/" + f.path)
	old, oldText := blobs.image(f.old, f.oldMode)
	now, nowText := blobs.image(f.now, f.newMode)
	c.changes++
	_, err := alice.Grants.Judge(grant.Write, string(path))
	if err == nil {
		err = alice.Grants.DeniedByContent(grant.Write, string(path), oldText)
	}
	if refusal.As(err) != nil {
		c.refused++
		return false
	}
	class := classify.Classify([]classify.Change{{Path: path, Real: path, Home: "/home/alice", Capability: action.CapFileWrite,
		Old: old, New: now, OldContent: oldText, NewContent: nowText, Captured: old != nil, InSnapshotRoot: true}}, p.Classes())
	d := p.Decide(class, policy.Proposer{Agent: "claude"})
	if d.Verdict == policy.Auto && mustAsk.MatchString(f.path) {
		t.Errorf("%s lands by policy", f.path)
	}
	if d.Verdict == policy.Auto {
		return false
	}
	c.asks++
	for _, r := range d.Reasons {
		key := string(r.Name)
		if r.Entry != "" {
			key += " " + r.Entry
		}
		c.entries[key]++
		if len(d.Reasons) == 1 {
			c.alone[key]++
		}
		if c.paths[key] == nil {
			c.paths[key] = map[string]int{}
		}
		c.paths[key][f.path]++
	}
	return true
}

// logOf gives the file changes of the last n commits of people that are no
// merges, but for links and submodules, which no agent writes.
func logOf(t *testing.T, repo string, n int) [][]fileChange {
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", repo, "log", "--no-merges", "-n", strconv.Itoa(5*n), "--raw", "-z", "--no-renames", "--no-abbrev", "--format=commit %an")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var commits [][]fileChange
	bot := false
	fields := strings.Split(string(out), "\x00")
	for i := 0; i < len(fields); i++ {
		field := strings.TrimLeft(fields[i], "\n")
		if head, raw, _ := strings.Cut(field, "\n:"); strings.HasPrefix(head, "commit ") {
			if bot = bots.MatchString(head); !bot {
				commits = append(commits, nil)
			}
			if len(commits) > n {
				return commits[:n]
			}
			field = raw
		}
		parts := strings.Fields(strings.TrimPrefix(field, ":"))
		if len(parts) != 5 || len(commits) == 0 || i+1 >= len(fields) {
			continue
		}
		i++
		oldMode, _ := strconv.ParseUint(parts[0], 8, 32)
		newMode, _ := strconv.ParseUint(parts[1], 8, 32)
		if regular(oldMode) && regular(newMode) && !bot {
			last := &commits[len(commits)-1]
			*last = append(*last, fileChange{fields[i], uint32(oldMode) & 0o777, uint32(newMode) & 0o777, parts[2], parts[3]})
		}
	}
	return commits
}

func regular(mode uint64) bool { return mode == 0 || mode&0o170000 == 0o100000 }

// blobs reads objects of a repository.
type blobs struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

func newBlobs(t *testing.T, repo string) *blobs {
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", repo, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &blobs{t, in, bufio.NewReader(out), cmd.Wait}
}

func (b *blobs) close() {
	b.in.Close()
	b.wait()
}

// image gives a blob as a file; one that the clone lacks has content of its
// own name, and nothing else is known of it.
func (b *blobs) image(name string, mode uint32) (*action.Image, []byte) {
	if strings.Trim(name, "0") == "" {
		return nil, nil
	}
	fmt.Fprintln(b.in, name)
	head, err := b.out.ReadString('\n')
	if err != nil {
		b.t.Fatal(err)
	}
	content := []byte(name)
	if parts := strings.Fields(head); len(parts) == 3 {
		size, err := strconv.Atoi(parts[2])
		if err != nil {
			b.t.Fatal(err)
		}
		content = make([]byte, size+1)
		if _, err := io.ReadFull(b.out, content); err != nil {
			b.t.Fatal(err)
		}
		content = content[:size]
	}
	h := action.HashOf(content)
	return &action.Image{Hash: &h, Size: uint64(len(content)), Mode: mode, GID: 1000}, content
}
