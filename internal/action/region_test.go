package action

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func regionOf(was, now string) Region {
	b := standing(was)
	regions, _ := Regions([]Planned{{Fact: b.Fact, Does: Replaces, Old: []byte(was), New: []byte(now)}})
	return regions[0]
}

// S28: a region is what changed, with three lines around it, and says from which
// line on it stands.
func TestRegion(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct {
		was, now string
		from     uint64
		text     string
	}{
		"a line":              {ten, strings.Replace(ten, "5\n", "five\n", 1), 2, "2\n3\n4\nfive\n6\n7\n8\n"},
		"the first":           {ten, "one\n" + ten[2:], 1, "one\n2\n3\n4\n"},
		"the last":            {ten, ten[:18] + "ten\n", 7, "7\n8\n9\nten\n"},
		"without a last end":  {ten, ten[:18] + "ten", 7, "7\n8\n9\nten"},
		"put in between":      {ten, strings.Replace(ten, "5\n", "5\n5.5\n", 1), 3, "3\n4\n5\n5.5\n6\n7\n8\n"},
		"taken out":           {ten, strings.Replace(ten, "5\n", "", 1), 2, "2\n3\n4\n6\n7\n8\n"},
		"put in front":        {ten, "0\n" + ten, 1, "0\n1\n2\n3\n"},
		"put behind":          {ten, ten + "11\n", 8, "8\n9\n10\n11\n"},
		"emptied":             {ten, "", 1, ""},
		"from nothing":        {"", ten, 1, ten},
		"one more of many":    {"x\nx\nx\nx\nx\n", "x\nx\nx\nx\nx\nx\n", 3, "x\nx\nx\nx\n"},
		"two lines far apart": {ten, strings.NewReplacer("2\n", "two\n", "9\n", "nine\n").Replace(ten), 1, "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n10\n"},
		"within a line":       {"abc", "abd", 1, "abd"},
	} {
		r := regionOf(c.was, c.now)
		if r.From != c.from || r.Text != c.text || r.Cut != 0 || r.Path != there {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// S28: whatever changed, what lies before and behind a region stood in the old
// text too, and no more than three of its lines did that are at its ends.
func TestRegionHoldsEveryChange(t *testing.T) {
	text := func() string {
		var b strings.Builder
		for range rand.IntN(12) {
			b.WriteString([]string{"a\n", "b\n", "\n", "aa\n"}[rand.IntN(4)])
		}
		if rand.IntN(3) == 0 {
			b.WriteString("a")
		}
		return b.String()
	}
	for range 20_000 {
		was, now := text(), text()
		if was == now {
			continue
		}
		r := regionOf(was, now)
		lines := strings.SplitAfter(now, "\n")
		head := strings.Join(lines[:r.From-1], "")
		if !strings.HasPrefix(now[len(head):], r.Text) {
			t.Fatalf("%q to %q: %+v does not stand there", was, now, r)
		}
		tail := now[len(head)+len(r.Text):]
		if !strings.HasPrefix(was, head) || !strings.HasSuffix(was, tail) || len(head)+len(tail) > len(was) {
			t.Fatalf("%q to %q: %+v leaves a change out", was, now, r)
		}
	}
}

// S28: the regions of one answer are bounded together, in lines that are whole;
// what is cut is counted, and so are files that have no place any more.
func TestRegionsAreBounded(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	plan := func(content string) Planned {
		return Planned{Fact: standing("").Fact, Does: Replaces, Old: []byte{}, New: []byte(content)}
	}
	regions, more := Regions([]Planned{plan(strings.Repeat(line, 200)), plan(strings.Repeat(line, 200)), plan(line)})
	total := 0
	for _, r := range regions {
		total += len(r.Text)
	}
	if len(regions) != 3 && more == 0 || total > MaxRegions || regions[0].Cut != 0 || regions[1].Cut != 400-MaxRegions/100 || !strings.HasSuffix(regions[1].Text, "\n") {
		t.Errorf("%d regions, %d bytes, %d more, cut %d", len(regions), total, more, regions[1].Cut)
	}
	regions, more = Regions([]Planned{plan(strings.Repeat("x", MaxRegions+1)), plan("short\n")})
	if len(regions) != 0 || more != 2 {
		t.Errorf("%d regions, %d more", len(regions), more)
	}
	fits := plan(strings.Repeat("x", MaxRegions))
	if regions, more = Regions([]Planned{fits, plan("short\n")}); len(regions) != 1 || more != 1 || len(regions[0].Text) != MaxRegions {
		t.Errorf("%d regions, %d more", len(regions), more)
	}
}

// S28: what is new, deleted, binary, or replaced what was not read has no region.
func TestNoRegion(t *testing.T) {
	for name, p := range map[string]Planned{
		"new": {Does: Creates, New: []byte("x")}, "deleted": {Does: Deletes, Old: []byte("x")}, "unread": {Does: Replaces, New: []byte("x")},
		"binary": {Does: Replaces, Old: []byte("x"), New: []byte("\xff")},
	} {
		if regions, more := Regions([]Planned{p}); len(regions) > 0 || more > 0 {
			t.Errorf("%s: %+v, %d", name, regions, more)
		}
	}
}
