package classify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/action"
)

// BenchmarkClassify is one change of 10 KiB, as the keeper judges it: the whole
// file before and after.
func BenchmarkClassify(b *testing.B) {
	line := "\tif err := store.Write(ctx, key_of(name), value); err != nil { return fmt.Errorf(\"writing %s-%d: %w\", name, n, err) }\n"
	was := strings.Repeat(line, 10<<10/len(line))
	for name, change := range map[string]func(*Change){
		"Edit": func(c *Change) {
			put(was[:5000] + "x" + was[5000:])(c)
			c.OldContent, c.Old = []byte(was), image([]byte(was), 0o644)
		},
		"New": func(c *Change) { born(c); put(was)(c) },
	} {
		b.Run(name, func(b *testing.B) {
			changes := []Change{edit(func(c *Change) {
				c.Path, c.Real = home+"/projects/server/internal/store/write_test.go", home+"/projects/server/internal/store/write_test.go"
				change(c)
			})}
			b.ReportAllocs()
			for b.Loop() {
				Classify(changes, Limits{Large: 256 << 10})
			}
		})
	}
}

// hostile has pieces that a content made to be slow to judge consists of.
func hostile() map[string]string {
	lead := "gl" + "pat-"
	return map[string]string{
		"Beginnings": "----BEGIN ", "Keys": "----BEGIN PRIVATE KEY----END", "Leads": lead, "LeadsApart": lead + " ", "Sections": "[a]",
		"Headers": "[core]\n", "Brackets": "[", "Quotes": "[a \"", "Lines": "\n", "Modelines": "vim: ", "Underscores": "_", "JSON": "{\"a\":",
	}
}

// made gives a change that puts content of a piece in the place of half of it.
func made(piece string, n int) []Change {
	text := strings.Repeat(piece, n/len(piece))
	c := edit(put(text))
	c.Path, c.Real = home+"/p/package.json", home+"/p/package.json"
	c.OldContent = []byte("old " + text[:len(text)/2])
	return []Change{c}
}

// T4: content is walked through once, whatever it holds: to look from each of
// its beginnings to its end would take hours here.
func TestContentIsWalkedOnce(t *testing.T) {
	for name, piece := range hostile() {
		if got := Classify(made(piece, 4<<20), Limits{Large: 1}); !slices.ContainsFunc(got.Reasons, func(r Reason) bool { return r.Name == Large }) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	deep := "/" + strings.Repeat("a/", 2000) + strings.Repeat("*.git.", 10)
	Classify([]Change{edit(func(c *Change) { c.Path, c.Real = action.Path(home+deep), action.Path(home+deep) })}, Limits{Large: 1})
}

// BenchmarkHostile is content made to be slow to judge; x-linear is what 16
// times as much of it costs, divided by 16: 1 for what is linear.
func BenchmarkHostile(b *testing.B) {
	for name, piece := range hostile() {
		b.Run(name, func(b *testing.B) {
			cost := func(n int) time.Duration {
				changes := made(piece, n)
				best := time.Duration(1 << 62)
				for range 3 {
					begin := time.Now()
					Classify(changes, Limits{Large: 1})
					best = min(best, time.Since(begin))
				}
				return best
			}
			var small, large time.Duration
			for b.Loop() {
				small, large = small+cost(256<<10), large+cost(4<<20)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(large)/float64(small)/16, "x-linear")
			b.ReportMetric(float64(large.Microseconds())/float64(b.N)/4/1000, "ms/MiB")
		})
	}
}
