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

var errGone = errors.New("the terminal ended")

// Gone says whether an error of this package is that of a terminal that nobody
// answers at any more.
func Gone(err error) bool { return errors.Is(err, errGone) }

// Terminal says whether there is a person to ask.
func Terminal(in, out *os.File) bool {
	return term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// Ask asks until one of the words is given. The error is ctx's, or that the
// terminal is gone. Nothing goes on reading the terminal once it has returned.
func Ask(ctx context.Context, in, out *os.File, question string, words []string) (string, error) {
	if err := put(ctx, in, out, fmt.Sprintf("%s [%s] ", question, strings.Join(words, "/"))); err != nil {
		return "", err
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

// Line asks for a line of the person's own, which may be empty, without the
// spaces around it. The error is as Ask's.
func Line(ctx context.Context, in, out *os.File, question string) (string, error) {
	if err := put(ctx, in, out, question+" "); err != nil {
		return "", err
	}
	line, err := readLine(ctx, int(in.Fd()))
	return strings.TrimSpace(line), err
}

// put writes a question, and throws away what was typed before it had stood.
func put(ctx context.Context, in, out *os.File, question string) error {
	fmt.Fprint(out, question)
	select {
	case <-time.After(stands):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := unix.IoctlSetInt(int(in.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return fmt.Errorf("%w: discarding what was typed before the question: %w", errGone, err)
	}
	return nil
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
			return "", fmt.Errorf("%w: waiting for an answer: %w", errGone, err)
		}
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err != nil:
			return "", fmt.Errorf("%w: reading an answer: %w", errGone, err)
		case n == 0:
			return "", fmt.Errorf("%w before an answer", errGone)
		}
		return string(buf[:n]), nil
	}
}
