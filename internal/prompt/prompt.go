// Package prompt asks a person at a terminal, one line at a time.
//
// An answer is a whole word of those offered: there is no default, and Enter
// alone says nothing. What was typed before the question stood on the screen
// does not count.
package prompt

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// stands is how long a question is on the screen before a key counts.
const stands = 500 * time.Millisecond

// Terminal says whether there is a person to ask.
func Terminal(in, out *os.File) bool {
	return term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// Ask asks until one of the words is given. The error is ctx's, or that the
// terminal is gone.
func Ask(ctx context.Context, in, out *os.File, question string, words []string) (string, error) {
	fmt.Fprintf(out, "%s [%s] ", question, strings.Join(words, "/"))
	time.Sleep(stands)
	if err := unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("discarding what was typed before the question: %w", err)
	}
	answers := make(chan string)
	ended := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			select {
			case answers <- strings.TrimSpace(lines.Text()):
			case <-ctx.Done():
				return
			}
		}
		ended <- fmt.Errorf("the terminal ended before an answer")
	}()
	for {
		select {
		case a := <-answers:
			for _, w := range words {
				if a == w {
					return w, nil
				}
			}
			fmt.Fprintf(out, "type one of the words whole: %s ", strings.Join(words, ", "))
		case err := <-ended:
			return "", err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
