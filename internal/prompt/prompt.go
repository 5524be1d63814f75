// Package prompt asks a person at a terminal, one line at a time.
//
// An answer is a whole word of those offered, and Enter: there is no default,
// and either without the other says nothing. What was typed before the question
// stood on the screen does not count.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
// terminal is gone. Nothing goes on reading the terminal once it has returned.
func Ask(ctx context.Context, in, out *os.File, question string, words []string) (string, error) {
	fmt.Fprintf(out, "%s [%s] ", question, strings.Join(words, "/"))
	select {
	case <-time.After(stands):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("discarding what was typed before the question: %w", err)
	}
	for {
		line, err := readLine(ctx, int(in.Fd()))
		if err != nil {
			return "", err
		}
		answer, entered := strings.CutSuffix(line, "\n")
		if answer = strings.TrimSpace(answer); entered && slices.Contains(words, answer) {
			return answer, nil
		}
		fmt.Fprintf(out, "type one of the words whole: %s ", strings.Join(words, ", "))
	}
}

const (
	// glance is how often a wait for a key looks whether it is still wanted.
	glance = 100 * time.Millisecond
	// maxLine is the longest line that a terminal hands over.
	maxLine = 4096
)

// readLine takes one line from a terminal, which hands over a line at a time.
func readLine(ctx context.Context, fd int) (string, error) {
	buf := make([]byte, maxLine)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, int(glance.Milliseconds())); err == unix.EINTR || err == nil && n == 0 {
			continue
		} else if err != nil {
			return "", fmt.Errorf("waiting for an answer: %w", err)
		}
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err != nil:
			return "", fmt.Errorf("reading an answer: %w", err)
		case n == 0:
			return "", errors.New("the terminal ended before an answer")
		}
		return string(buf[:n]), nil
	}
}
