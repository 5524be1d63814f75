package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"countersign/internal/testas"
)

// person is at the other end of a terminal.
type person struct {
	t        *testing.T
	hand     *os.File // what they type goes in, what is shown comes out
	terminal *os.File // the program's end

	mu    sync.Mutex
	shown bytes.Buffer
}

// sit opens a terminal and reads what is shown there.
func sit(t *testing.T) *person {
	t.Helper()
	hand, terminal := testas.Terminal(t)
	p := &person{t: t, hand: hand, terminal: terminal}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := hand.Read(buf)
			p.mu.Lock()
			p.shown.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.hand.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until a text stands on the screen n times.
func (p *person) sees(text string, n int) {
	p.t.Helper()
	for range 500 {
		p.mu.Lock()
		got := bytes.Count(p.shown.Bytes(), []byte(text))
		p.mu.Unlock()
		if got >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("%q did not show %d times in %q", text, n, p.shown.String())
}

// asked is a question under way.
type asked struct {
	answer string
	err    error
}

func (p *person) ask(ctx context.Context) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		answer, err := Ask(ctx, p.terminal, p.terminal, "Put this back?", []string{"undo", "leave"})
		done <- asked{answer, err}
	}()
	return done
}

func (p *person) gets(done <-chan asked) asked {
	p.t.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(5 * time.Second):
		p.t.Fatal("no answer was taken")
		return asked{}
	}
}

// settled waits until the question has stood long enough for keys to count.
func settled() { time.Sleep(stands + 200*time.Millisecond) }

// again is what stands after an answer that was none.
const again = "whole: undo, leave"

// O4: there is no default. Enter alone, a beginning of a word, another case, and
// two words at once answer nothing; a whole word with Enter does.
func TestOnlyAWholeWordAnswers(t *testing.T) {
	t.Parallel()
	p := sit(t)
	done := p.ask(t.Context())
	settled()
	for i, s := range []string{"\n", "u\n", "y\n", "yes\n", "Undo\n", "undo leave\n", "undone\n", " \t\n", "undo\x04"} {
		p.types(s)
		p.sees(again, i+1)
		select {
		case a := <-done:
			t.Fatalf("%q answered %+v", s, a)
		default:
		}
	}
	p.types("  undo \n")
	if a := p.gets(done); a.err != nil || a.answer != "undo" {
		t.Errorf("%+v", a)
	}
}

// O4: what was typed before the question had stood for half a second does not
// count, whole words and half ones.
func TestTypedBeforeDoesNotCount(t *testing.T) {
	t.Parallel()
	p := sit(t)
	p.types("undo\n")
	done := p.ask(t.Context())
	p.sees("Put this back?", 1)
	p.types("undo\nun")
	settled()
	select {
	case a := <-done:
		t.Fatalf("typed too early, and it answered %+v", a)
	default:
	}
	p.types("do\n") // with what was typed before it would be a word
	p.sees(again, 1)
	p.types("leave\n")
	if a := p.gets(done); a.err != nil || a.answer != "leave" {
		t.Errorf("%+v", a)
	}
}

// O4: the end of the terminal is no answer, and an error.
func TestEndIsAnError(t *testing.T) {
	t.Parallel()
	p := sit(t)
	done := p.ask(t.Context())
	settled()
	p.types("\x04")
	if a := p.gets(done); a.err == nil || a.answer != "" {
		t.Errorf("%+v", a)
	}
}

// O4: a question that is given up ends at once with its context's error, before
// keys count and after.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	p := sit(t)
	for _, wait := range []time.Duration{50 * time.Millisecond, stands + 200*time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		a := p.gets(p.ask(ctx))
		cancel()
		if !errors.Is(a.err, context.DeadlineExceeded) || a.answer != "" {
			t.Errorf("after %v: %+v", wait, a)
		}
	}
}

// O4: a question that has ended takes no key from the next one.
func TestOneQuestionAfterAnother(t *testing.T) {
	t.Parallel()
	p := sit(t)
	for i, word := range []string{"undo", "leave", "undo"} {
		done := p.ask(t.Context())
		p.sees("Put this back?", i+1)
		settled()
		p.types(word + "\n")
		if a := p.gets(done); a.err != nil || a.answer != word {
			t.Fatalf("question %d: %+v, want %q", i+1, a, word)
		}
	}
}

// O4: a line of a person's own is taken whole, an empty one too, but none that
// was typed before it was asked for; and the end of the terminal is told apart.
func TestLine(t *testing.T) {
	t.Parallel()
	p := sit(t)
	ask := func() <-chan asked {
		done := make(chan asked, 1)
		go func() {
			answer, err := Line(t.Context(), p.terminal, p.terminal, "A word:")
			done <- asked{answer, err}
		}()
		return done
	}
	p.types("too early\n")
	for i, want := range []string{"two words", ""} {
		done := ask()
		p.sees("A word:", i+1)
		settled()
		p.types("  " + want + " \n")
		if a := p.gets(done); a.err != nil || a.answer != want {
			t.Errorf("%+v, want %q", a, want)
		}
	}
	done := ask()
	p.sees("A word:", 3)
	settled()
	p.types("\x04")
	if a := p.gets(done); !Gone(a.err) {
		t.Errorf("%+v", a)
	}
}

// O4: where there is no terminal, nobody is there to answer.
func TestNoTerminal(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	if Terminal(in, out) {
		t.Error("a pipe passes for a terminal")
	}
	if _, err := out.WriteString("undo\n"); err != nil {
		t.Fatal(err)
	}
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	if a, err := Ask(t.Context(), in, sink, "?", []string{"undo"}); err == nil || a != "" {
		t.Errorf("a pipe answered %q, %v", a, err)
	}
	if p := sit(t); !Terminal(p.terminal, p.terminal) || Terminal(p.terminal, out) || Terminal(in, p.terminal) {
		t.Error("a terminal does not pass for one, or a pipe does")
	}
}
