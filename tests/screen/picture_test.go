package screen

import (
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"countersign/tests/lab"
)

var picture = flag.String("picture", "", "file to write the picture of the screen to")

// O1: the picture in the README is of the real screen: `make picture` takes it
// anew, from a terminal of 104 by 24, with the laboratory's homes shown as /home.
func TestPicture(t *testing.T) {
	w := newWorld(t)
	if err := w.MkdirAll(lab.Alice, w.Home("alice")+"/project/bin"); err != nil {
		t.Fatal(err)
	}
	path := w.script("project/bin/deploy", strings.Join([]string{"#!/bin/sh", "set -eu", `host=${1:-staging}`, `rsync -a build/ "$host:/srv/app/"`, `ssh "$host" systemctl restart app`, ""}, "\n"))
	w.propose(lab.Claude, path, strings.Join([]string{"#!/bin/sh", "set -eu", `host=${1:-staging}`, "make check",
		`rsync -a --delete build/ "$host:/srv/app/"`, `ssh "$host" systemctl restart app`, ""}, "\n"), "Run the tests before a deployment, and remove what is no longer built.")
	p := w.open(104, 24)
	p.sees("claude: 1")
	p.press("Enter")
	p.ripe()
	svg := svgOf(strings.ReplaceAll(p.must("capture-pane", "-p", "-e"), w.Dir, "/home"), 104)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
	for _, want := range []string{"/home/alice/project/bin/deploy", "agent says:", "--delete ", "A approves"} {
		if !strings.Contains(svg, html.EscapeString(want)) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if *picture != "" {
		if err := os.WriteFile(*picture, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What a picture is made of, in pixels.
const (
	cellWidth, cellHeight, margin = 8.4, 18, 12
	ink, paper                    = "#d4d4d4", "#1e1e1e"
)

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// svgOf draws rows of text and the styles between them.
func svgOf(text string, columns int) string {
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	width, height := float64(columns)*cellWidth+2*margin, len(rows)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", paper)
	style := map[string]bool{}
	for i, row := range rows {
		column := 0
		put := func(s string) {
			if strings.TrimSpace(s) != "" || style["7"] {
				cell(&b, style, s, float64(column)*cellWidth+margin, float64(i*cellHeight+margin))
			}
			column += len([]rune(s))
		}
		at := 0
		for _, m := range sgr.FindAllStringSubmatchIndex(row, -1) {
			put(row[at:m[0]])
			at = m[1]
			for code := range strings.SplitSeq(row[m[2]:m[3]], ";") {
				if code == "" || code == "0" {
					clear(style)
				}
				if code == "39" {
					delete(style, "31")
					delete(style, "32")
					delete(style, "36")
				}
				style[code] = true
			}
		}
		put(row[at:])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// cell draws a run of characters in one style.
func cell(b *strings.Builder, style map[string]bool, s string, x, y float64) {
	fill := ink
	for code, colour := range map[string]string{"31": "#f48771", "32": "#89d185", "36": "#4ec9e0"} {
		if style[code] {
			fill = colour
		}
	}
	width := float64(len([]rune(s))) * cellWidth
	if style["7"] {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, x, y, width, cellHeight, fill)
		fill = paper
	}
	more := ""
	if style["1"] {
		more += ` font-weight="bold"`
	}
	if style["2"] {
		more += ` opacity="0.7"`
	}
	if style["4"] {
		more += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s xml:space="preserve">%s</text>`+"\n", x, y+13.5, width, fill, more, html.EscapeString(s))
}
