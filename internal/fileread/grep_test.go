package fileread

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"countersign/internal/action"
	"countersign/internal/canon"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
	"countersign/internal/search"
	"countersign/internal/testas"
)

// putAll writes files beneath a home, with the directories they need.
func putAll(t *testing.T, home string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		must(t, os.MkdirAll(filepath.Dir(home+"/"+name), 0o755), os.WriteFile(home+"/"+name, []byte(text), 0o644))
	}
}

// grepAll asks for every part of an answer, and puts them together.
func grepAll(t rapid.TB, f Files, in protocol.GrepParams) (all protocol.GrepResult, parts int) {
	for {
		res, err := f.Grep(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := canon.Encode(res); err != nil || len(b) > 64<<10 {
			t.Fatalf("a part of %d bytes, %v", len(b), err)
		}
		for _, file := range res.Files {
			if n := len(all.Files); n > 0 && all.Files[n-1].Path == file.Path {
				all.Files[n-1].Lines = append(all.Files[n-1].Lines, file.Lines...)
			} else {
				all.Files = append(all.Files, file)
			}
		}
		for _, s := range res.Skipped {
			if n := len(all.Skipped); n > 0 && all.Skipped[n-1].Dir == s.Dir && all.Skipped[n-1].Code == s.Code {
				all.Skipped[n-1].Names = append(all.Skipped[n-1].Names, s.Names...)
			} else {
				all.Skipped = append(all.Skipped, s)
			}
		}
		all.Searched, all.Matches, parts = all.Searched+res.Searched, all.Matches+res.Matches, parts+1
		if res.Next == "" {
			return all, parts
		}
		in.After, in.AfterLine = res.Next, res.NextLine
	}
}

// spell puts an answer into one string.
func spell(home string, res protocol.GrepResult) string {
	var b strings.Builder
	for _, f := range res.Files {
		fmt.Fprintf(&b, "%s", strings.TrimPrefix(string(f.Path), home+"/"))
		if f.Count > 0 {
			fmt.Fprintf(&b, "=%d", f.Count)
		}
		for _, l := range f.Lines {
			fmt.Fprintf(&b, " %d%s%s%s", l.Number, map[bool]string{true: ":", false: "-"}[l.Match], l.Text, l.Bytes)
		}
		b.WriteString("; ")
	}
	for _, s := range res.Skipped {
		fmt.Fprintf(&b, "!%s %q %s; ", strings.TrimPrefix(string(s.Dir), home), s.Names, s.Code)
	}
	return b.String()
}

// R9: every form of a search: the lines with their numbers, lines around them,
// counts, names; either case, whole words, text as it is; files chosen by globs.
func TestGrepForms(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{
		"a.go":         "package a\n\nfunc Close() {}\r\n// close it\nend",
		"b/close.md":   "Close.\nclosed\n",
		"b/x/deep.go":  "one\nclose(x)\ntwo\n",
		"b-2/empty.go": "",
	})
	f := files(t, home)
	for _, c := range []struct {
		in   protocol.GrepParams
		want string
	}{
		{protocol.GrepParams{Pattern: "close"}, "a.go 4:// close it; b/close.md 2:closed; b/x/deep.go 2:close(x); "},
		{protocol.GrepParams{Pattern: "close", IgnoreCase: true, Mode: protocol.GrepCount}, "a.go=2; b/close.md=2; b/x/deep.go=1; "},
		{protocol.GrepParams{Pattern: "close", Mode: protocol.GrepFiles}, "a.go=1; b/close.md=1; b/x/deep.go=1; "},
		{protocol.GrepParams{Pattern: "close", Word: true, Include: []string{"*.md", "a.go"}}, "a.go 4:// close it; "},
		{protocol.GrepParams{Pattern: "close(", Literal: true}, "b/x/deep.go 2:close(x); "},
		{protocol.GrepParams{Pattern: `\{\}$`, Context: 1}, "a.go 2- 3:func Close() {} 4-// close it; "},
		{protocol.GrepParams{Pattern: "^end$"}, "a.go 5:end; "},
		{protocol.GrepParams{Pattern: "close", Include: []string{"b/*"}}, "b/close.md 2:closed; "},
		{protocol.GrepParams{Pattern: "close", Include: []string{"**/deep.*"}}, "b/x/deep.go 2:close(x); "},
		{protocol.GrepParams{Pattern: "close", Exclude: []string{"b/x", "*.md"}}, "a.go 4:// close it; "},
		{protocol.GrepParams{Pattern: "close", Exclude: []string{"x"}}, "a.go 4:// close it; b/close.md 2:closed; "},
		{protocol.GrepParams{Pattern: "nothing of the kind"}, ""},
		{protocol.GrepParams{Pattern: "close", Path: "/b/x"}, "b/x/deep.go 2:close(x); "},
		{protocol.GrepParams{Pattern: "close", Path: "/b/close.md", Include: []string{"*.go"}}, "b/close.md 2:closed; "},
	} {
		c.in.Path = action.Path(home) + c.in.Path
		got, _ := grepAll(t, f, c.in)
		if spell(home, got) != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.in, spell(home, got), c.want)
		}
	}
}

// R9 R11: an answer in parts, wherever they end, is the answer in one, in path
// order, each line, file and skipped file once.
func TestGrepParts(t *testing.T) {
	home := t.TempDir()
	content := map[string]string{}
	for i := range 60 {
		lines := strings.Repeat("aa\nbb\ncc\n", (i*7)%13)
		content[fmt.Sprintf("%02d/f%d", i%7, i)] = lines
		content[fmt.Sprintf("%02d/f%d.bin", i%7, i)] = "\x00"
	}
	content["03/long"] = strings.Repeat(strings.Repeat("x", 900)+"bb\n", 120)
	putAll(t, home, content)
	f := files(t, home)
	for _, mode := range []protocol.GrepMode{protocol.GrepLines, protocol.GrepCount, protocol.GrepFiles} {
		whole, _ := grepAll(t, f, protocol.GrepParams{Path: action.Path(home), Pattern: "bb", Mode: mode, Context: 1})
		if !slices.IsSortedFunc(whole.Files, func(a, b protocol.GrepFile) int { return strings.Compare(string(a.Path), string(b.Path)) }) || whole.Searched != 61 {
			t.Fatalf("%d files searched, %s", whole.Searched, spell(home, whole))
		}
		for _, limit := range []uint64{1, 2, 5, 17, 40} {
			got, parts := grepAll(t, f, protocol.GrepParams{Path: action.Path(home), Pattern: "bb", Mode: mode, Context: 1, Limit: limit})
			if spell(home, got) != spell(home, whole) || got.Searched != whole.Searched || got.Matches != whole.Matches || parts < 2 {
				t.Fatalf("in %d parts of %d:\n got %s\nwant %s", parts, limit, spell(home, got), spell(home, whole))
			}
		}
	}
}

// R9 R11: a file that matches throughout is told to its end, a part at a time.
func TestGrepLongFile(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{"f": strings.Repeat(strings.Repeat("x", 850)+"bb\n", 120)})
	got, parts := grepAll(t, files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "bb"})
	if len(got.Files) != 1 || len(got.Files[0].Lines) != 120 || got.Matches != 120 || parts < 2 {
		t.Errorf("%d files, %d matches, %d parts", len(got.Files), got.Matches, parts)
	}
}

// R11: what is told of the directories that were not reached leaves an answer
// small, however long their names are.
func TestGrepTold(t *testing.T) {
	home := t.TempDir()
	deep, content := strings.Repeat(strings.Repeat("d", 250)+"/", 13), map[string]string{}
	for i := range 60 {
		content[fmt.Sprintf("%s%s%02d/f", deep, strings.Repeat("n", 200), i)] = "bb\n"
	}
	putAll(t, home, content)
	f, in := files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "bb", Limit: 1}
	res, err := f.Grep(context.Background(), in)
	if err != nil || len(res.Left) == 0 || res.LeftMore == 0 {
		t.Errorf("%d left and %d more, %v", len(res.Left), res.LeftMore, err)
	}
	if got, parts := grepAll(t, f, in); got.Matches != 60 || parts != 60 {
		t.Errorf("%d matches in %d parts", got.Matches, parts)
	}
}

// R5 R9: a file over its grant's limit is not searched, however small that is.
func TestGrepLimit(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{"over": "needle and more", "at": "needle"})
	f := files(t, home)
	f.Finder.Grants.Reads[0].MaxFileSize = 6
	got, _ := grepAll(t, f, protocol.GrepParams{Path: action.Path(home), Pattern: "needle"})
	if s := spell(home, got); s != `at 1:needle; ! ["over"] file-too-big; ` {
		t.Error(s)
	}
}

// R1 R4 R9: every file that is not searched is told with why; what no grant
// covers, what the deny list holds by name, and what is no file is not there.
// A private key in a key file is never searched.
func TestGrepSkips(t *testing.T) {
	if !testas.User(t, testas.Person) {
		return
	}
	home, out := t.TempDir(), t.TempDir()
	big := strings.Repeat("needle\n", 400_000)
	putAll(t, home, map[string]string{
		"bin": "needle\x00", "late": strings.Repeat("x", 8<<10) + "\n\x00needle\n", "big": big, "bigbin": "\x00" + big, "shut": "needle\n",
		"key.pem": "needle\n-----BEGIN PRIVATE KEY-----\n", "cert.pem": "needle\n-----BEGIN CERTIFICATE-----\n", ".env": "needle\n", ".ssh/config": "needle\n",
		"latin": "caf\xe9 needle\n", "dir/f": "needle\n", "closed/f": "needle\n",
	})
	putAll(t, out, map[string]string{"outside": "needle\n"})
	must(t, os.Chmod(home+"/shut", 0), os.Chmod(home+"/closed", 0), os.Symlink(out, home+"/link"), os.Symlink(out+"/outside", home+"/flink"),
		unix.Mkfifo(home+"/pipe", 0o644), unix.Mknod(home+"/socket", unix.S_IFSOCK|0o644, 0))
	t.Cleanup(func() { os.Chmod(home+"/closed", 0o700) })
	f := files(t, home)
	in := protocol.GrepParams{Path: action.Path(home), Pattern: "needle", All: true}
	got, _ := grepAll(t, f, in)
	want := "cert.pem 1:needle; dir/f 1:needle; late 2:\x00needle; latin 1:caf\xe9 needle; "
	want += `! ["big"] file-too-big; ! ["bigbin" "bin"] not-text; ! ["key.pem"] denied-place; ! ["shut"] permission; `
	if s := spell(home, got); s != want {
		t.Errorf("got  %q\nwant %q", s, want)
	}
	res, err := f.Grep(context.Background(), in)
	if err != nil || len(res.Missed) != 1 || res.Missed[0].Path != action.Path(home+"/closed") || res.Missed[0].Code != refusal.PermissionNo {
		t.Errorf("missed %+v, %v", res.Missed, err)
	}
	for _, name := range []string{"key.pem", "bin", "big", "shut"} { // named by itself
		if got, _ := grepAll(t, f, protocol.GrepParams{Path: action.Path(home + "/" + name), Pattern: "needle"}); len(got.Files) > 0 || len(got.Skipped) != 1 {
			t.Errorf("%s: %s", name, spell(home, got))
		}
	}
	for path, code := range map[string]refusal.Code{
		"/pipe": refusal.NotRegular, "/socket": refusal.NotRegular, "/flink": refusal.Link, "/link": refusal.Link, "/.env": refusal.Denied, "/.ssh": refusal.Denied, "/none": refusal.NotFound,
	} {
		if _, err := f.Grep(context.Background(), protocol.GrepParams{Path: action.Path(home + path), Pattern: "x"}); !refusal.Is(err, code) {
			t.Errorf("%s: %v, wanted %s", path, err, code)
		}
	}
}

// R4: a file with another name among the deny list's is never searched; one with
// other names elsewhere is, and how many it has is told.
func TestGrepLinks(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{".ssh/id": "needle\n", "a/one": "needle\n", "b/f": "needle\n"})
	must(t, os.Link(home+"/.ssh/id", home+"/a/secret"), os.Link(home+"/a/one", home+"/b/two"))
	got, _ := grepAll(t, files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "needle"})
	if s, want := spell(home, got), `a/one 1:needle; b/f 1:needle; b/two 1:needle; !/a ["secret"] denied-place; `; s != want || got.Files[0].Links != 2 || got.Files[1].Links != 0 {
		t.Errorf("got %s\nwant %s", s, want)
	}
}

// R9: what is asked for that cannot be is refused by name, before anything is
// walked.
func TestGrepRefused(t *testing.T) {
	home := t.TempDir()
	f := files(t, home)
	many := slices.Repeat([]string{"*"}, maxGlobs+1)
	for code, list := range map[refusal.Code][]protocol.GrepParams{
		refusal.BadPattern: {{Pattern: ""}, {Pattern: "("}, {Pattern: "x", Include: []string{"[a"}}, {Pattern: "x", Exclude: []string{""}}, {Pattern: "x", Include: []string{"/a"}}},
		refusal.TooLarge:   {{Pattern: "x", Include: many}, {Pattern: "x", Context: protocol.MaxGrepContext + 1}},
		refusal.BadRequest: {{Pattern: "x", Mode: "all"}, {Pattern: "x", After: "/elsewhere"}, {Pattern: "x", AfterLine: 3}},
	} {
		for _, in := range list {
			in.Path = action.Path(home)
			if _, err := f.Grep(context.Background(), in); !refusal.Is(err, code) {
				t.Errorf("%.200v: %v, wanted %s", in, err, code)
			}
		}
	}
}

// R9: bytes that are no UTF-8 come as they are; of a long line a part comes,
// with where it begins and how long the line is.
func TestGrepLines(t *testing.T) {
	home := t.TempDir()
	putAll(t, home, map[string]string{"f": "\xff b\n" + strings.Repeat("x", 5000) + "b" + strings.Repeat("y", 5000) + "\n"})
	got, _ := grepAll(t, files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "b"})
	want := []protocol.GrepLine{
		{Number: 1, Match: true, From: 2, To: 3, Bytes: []byte("\xff b")},
		{Number: 2, Match: true, From: 5000, To: 5001, Text: strings.Repeat("x", 256) + "b" + strings.Repeat("y", 767), At: 4744, Size: 10001},
	}
	if !reflect.DeepEqual(got.Files[0].Lines, want) {
		t.Errorf("%+v", got.Files[0].Lines)
	}
}

// R9 R12: one call holds few handles at once and every one of them is closed,
// of a call that is answered, that stops early and that its caller gave up.
func TestGrepHandles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	home := t.TempDir()
	content := map[string]string{}
	for i := range 3000 {
		content[fmt.Sprintf("%02d/%d", i%40, i)] = strings.Repeat("needle\n", i%50) + string(rune('\x00'+i%3))
	}
	putAll(t, home, content)
	f, in := files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "needle"}
	most, stop := 0, make(chan bool)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				most = max(most, len(handlesIn(t, home)))
			}
		}
	})
	for range 5 {
		grepAll(t, f, protocol.GrepParams{Path: in.Path, Pattern: "no such thing"})
	}
	for after := range 40 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(after)*200*time.Microsecond)
		if _, err := f.Grep(ctx, in); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
		if open := handlesIn(t, home); len(open) > 0 {
			t.Fatalf("left open: %v", open)
		}
	}
	close(stop)
	watch.Wait()
	if most > 16+2*maxReaders+1 {
		t.Errorf("%d handles were open at once", most)
	}
	if len(f.room.handles) > 0 || len(f.room.large) != grepLarge {
		t.Error("room was not given back")
	}
}

// R9: one call reads sixteen files at once and no more, however long each takes.
func TestGrepSixteen(t *testing.T) {
	home := t.TempDir()
	for i := range 400 { // text at the beginning, and a hole
		name := fmt.Sprintf("%s/%d", home, i)
		must(t, os.WriteFile(name, []byte(strings.Repeat("needle\n", search.HeadSize/7+1)), 0o644), os.Truncate(name, smallFile+1))
	}
	f := files(t, home)
	for range grepLarge { // which all of them need
		_, err := f.room.enterLarge(context.Background(), 1)
		must(t, err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Grep(context.Background(), protocol.GrepParams{Path: action.Path(home), Pattern: "needle", Mode: protocol.GrepCount})
		done <- err
	}()
	for len(f.room.handles) < 16 {
		time.Sleep(time.Millisecond)
	}
	for range 50 {
		if n := len(handlesIn(t, home)); n > 16+2*maxReaders+1 || len(f.room.handles) > 16 {
			t.Fatalf("%d handles", n)
		}
		time.Sleep(time.Millisecond)
	}
	for range grepLarge {
		f.room.leaveLarge(nil)
	}
	must(t, <-done)
}

// R9 R11: what is kept of one file is what a part of an answer may hold, however
// much of it matches.
func TestGrepKeepsLittle(t *testing.T) {
	query, err := search.Compile(search.Query{Pattern: "x"})
	must(t, err)
	g, out := grepper{query: query}, grepped{seen: seen{met: &met{}}}
	g.text(context.Background(), []byte(strings.Repeat("x\n", 1<<20)), &out)
	if n := out.cost(); n > maxGrepPage+itemCost+2 || !out.cut {
		t.Errorf("%d bytes, %v", n, out.cut)
	}
}

// R13: no call waits behind another: many at once are each answered, and one
// that holds a file for ever keeps nobody.
func TestGrepMany(t *testing.T) {
	home := t.TempDir()
	content := map[string]string{}
	for i := range 500 {
		content[fmt.Sprintf("%d/%d", i%10, i)] = strings.Repeat("x\n", i) + "needle\n"
	}
	putAll(t, home, content)
	f, in := files(t, home), protocol.GrepParams{Path: action.Path(home), Pattern: "needle", Mode: protocol.GrepCount}
	want, _ := grepAll(t, f, in)
	for range grepReaders { // of a call that goes no further
		_, err := f.room.enter(context.Background())
		must(t, err)
	}
	var calls sync.WaitGroup
	for range 32 {
		calls.Go(func() {
			if got, _ := grepAll(t, f, in); spell(home, got) != spell(home, want) {
				t.Errorf("got %s", spell(home, got))
			}
		})
	}
	calls.Wait()
}

// R5 R9: of a file that grows while it is searched no more is read than it had
// when it was opened, and never more than the limit.
func TestGrepGrowing(t *testing.T) {
	home := t.TempDir()
	f := files(t, home)
	must(t, os.WriteFile(home+"/log", nil, 0o644))
	w, err := os.OpenFile(home+"/log", os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer w.Close()
	line := strings.Repeat("x", 1023) + "\n"
	for n := 0; n < 2200; n++ {
		_, err := w.WriteString(line)
		must(t, err)
		if n%40 > 0 {
			continue
		}
		done := make(chan bool)
		go func() {
			for range 40 {
				w.WriteString(line)
			}
			close(done)
		}()
		got, _ := grepAll(t, f, protocol.GrepParams{Path: action.Path(home), Pattern: "x", Mode: protocol.GrepCount})
		<-done
		n += 40
		if len(got.Files) == 1 && got.Files[0].Count > 2048 || len(got.Files) == 0 && len(got.Skipped) == 0 {
			t.Errorf("%+v", got)
		}
	}
}

// R4 R9 R12: while directories and links are swapped under a search, no byte
// comes from outside, and what is gone is neither told nor searched.
func TestGrepSwapped(t *testing.T) {
	home, out := t.TempDir(), t.TempDir()
	putAll(t, home, map[string]string{"a/f": "inside\n", "b/f": "inside\n", "c": "inside\n"})
	putAll(t, out, map[string]string{"f": "outside\n"})
	must(t, os.Symlink(out, home+"/link"), os.Symlink(out+"/f", home+"/flink"))
	stop := make(chan bool)
	var swapping sync.WaitGroup
	for from, to := range map[string]string{"a": "link", "c": "flink"} {
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, home+"/"+from, unix.AT_FDCWD, home+"/"+to, unix.RENAME_EXCHANGE)
				}
			}
		})
	}
	swapping.Go(func() { // and a file that comes and goes
		for {
			select {
			case <-stop:
				return
			default:
				os.WriteFile(home+"/b/g", []byte("inside\n"), 0o644)
				os.Remove(home + "/b/g")
			}
		}
	})
	f := files(t, home)
	for range 500 {
		got, _ := grepAll(t, f, protocol.GrepParams{Path: action.Path(home), Pattern: "side"})
		for _, file := range got.Files {
			for _, l := range file.Lines {
				if l.Text != "inside" {
					t.Fatalf("%s: %q", file.Path, l.Text)
				}
			}
		}
		if len(got.Skipped) > 0 {
			t.Fatalf("skipped %+v", got.Skipped)
		}
	}
	close(stop)
	swapping.Wait()
}
