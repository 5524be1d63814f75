package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
)

// NewLog makes a daemon's log, as lines of text on stderr. Where stderr leads
// to the system journal, a line begins with its priority as the journal reads
// it, "<N>", and has no time, which the journal adds.
func NewLog(stderr *os.File, process string) *slog.Logger {
	var h slog.Handler = slog.NewTextHandler(stderr, nil)
	if isJournal(stderr, os.Getenv("JOURNAL_STREAM")) {
		h = newJournalHandler(stderr)
	}
	return slog.New(h).With("process", process)
}

// isJournal says whether f is the stream that the service manager named, by
// its device and inode: a daemon whose stderr was led elsewhere is not fooled
// by a variable.
func isJournal(f *os.File, stream string) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// journalHandler writes a record as one line with the priority before it.
type journalHandler struct {
	slog.Handler // writes into line
	shared       *journalLine
}

type journalLine struct {
	mu   sync.Mutex
	line bytes.Buffer
	out  io.Writer
}

func newJournalHandler(out io.Writer) slog.Handler {
	shared := &journalLine{out: out}
	text := slog.NewTextHandler(&shared.line, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
	return journalHandler{text, shared}
}

func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	h.shared.line.Reset()
	fmt.Fprintf(&h.shared.line, "<%d>", priority(r.Level))
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.shared.out.Write(h.shared.line.Bytes())
	return err
}

func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.shared}
}

func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.shared}
}

// priority gives a level's number in syslog(3).
func priority(l slog.Level) int {
	const err, warning, info, debug = 3, 4, 6, 7
	switch {
	case l >= slog.LevelError:
		return err
	case l >= slog.LevelWarn:
		return warning
	case l >= slog.LevelInfo:
		return info
	}
	return debug
}
