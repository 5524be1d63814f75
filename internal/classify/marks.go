package classify

import (
	"bytes"
	"strings"
)

// mark is a form by which a secret is known in text: a literal, and so many
// letters of an alphabet behind it.
type mark struct {
	name, why string
	leads     []string // any of which begins one
	set       alphabet
	least     int // letters behind the lead
}

type alphabet uint8

const (
	upperDigits alphabet = 1 << iota // A-Z 0-9
	letters                          // and a-z
	words                            // and _
	tokens                           // and -
)

// alphabets says which alphabets a byte is in.
var alphabets = func() (t [256]alphabet) {
	for c := range 256 {
		switch b := byte(c); {
		case 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
			t[c] = upperDigits | letters | words | tokens
		case 'a' <= b && b <= 'z':
			t[c] = letters | words | tokens
		case b == '_':
			t[c] = words | tokens
		case b == '-':
			t[c] = tokens
		}
	}
	return t
}()

// secretMarks never changes while a program runs. A block of a private key has
// a form of its own, below.
var secretMarks = []mark{
	{"age-key", "a private key of age", []string{"AGE-SECRET-KEY-"}, upperDigits, 21},
	{"aws-key", "an access key of AWS", []string{"AKIA"}, upperDigits, 16},
	{"aws-session-key", "a session's access key of AWS", []string{"ASIA"}, upperDigits, 16},
	{"google-key", "an API key of Google", []string{"AIza"}, tokens, 35},
	{"github-token", "a token of GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, letters, 36},
	{"github-fine-token", "a token of GitHub", []string{"github_pat_"}, words, 22},
	{"gitlab-token", "a token of GitLab", []string{"glpat-"}, tokens, 20},
	{"slack-token", "a token of Slack", []string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"}, tokens, 10},
	{"model-key", "a key of a model provider", []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", "sk-ant-"}, tokens, 20},
	{"model-key", "a key of a model provider", []string{"sk-"}, letters, 20},
	{"stripe-key", "a key of Stripe", []string{"sk_live_"}, letters, 16},
	{"stripe-restricted-key", "a key of Stripe", []string{"rk_live_"}, letters, 16},
	{"npm-token", "a token of npm", []string{"npm_"}, letters, 36},
	{"pypi-token", "a token of PyPI", []string{"pypi-AgE"}, tokens, 50},
	{"hugging-face-token", "a token of Hugging Face", []string{"hf_"}, letters, 30},
}

const privateKey = "private-key"

// markEntries gives the marks as entries of the tables.
func markEntries() []Entry {
	out := []Entry{{Reason: Credentials, Name: privateKey, Why: "new text holds a private key", Form: "a block that begins with `-----BEGIN … PRIVATE KEY`"}}
	for _, m := range secretMarks {
		form := "`" + strings.Join(m.leads, "…`, `") + "…`"
		if last := &out[len(out)-1]; last.Name == m.name {
			last.Form += ", " + form
			continue
		}
		out = append(out, Entry{Reason: Credentials, Name: m.name, Why: "new text holds " + m.why, Form: form})
	}
	return out
}

// lead is one literal of a mark that counts.
type lead struct {
	text    string
	trigger int // which byte of text finds it, from 1
	set     alphabet
	least   int
	entry   int
}

// marksOf is the marks that count, filed by the byte that finds them, one that
// text holds seldom, and the byte before it: a text is walked through once, and
// nearly every byte of it looked at once.
type marksOf struct {
	leads [256]*[256][]lead
	key   int // place of the entry of private keys; -1 where it does not count
}

// marksThat files the marks that have a place among the entries.
func marksThat(entry func(string) int) (m marksOf) {
	for _, k := range secretMarks {
		at := entry(k.name)
		if at < 0 {
			continue
		}
		for _, text := range k.leads {
			trigger := strings.LastIndexAny(text, "_-")
			if trigger < 0 {
				trigger = strings.IndexAny(text, "KSz")
			}
			filed := &m.leads[text[trigger]]
			if *filed == nil {
				*filed = new([256][]lead)
			}
			before := &(*filed)[text[trigger-1]]
			*before = append(*before, lead{text, trigger, k.set, k.least, at})
		}
	}
	m.key = entry(privateKey)
	return m
}

// maxKnown bounds how many secrets that stood in a file before are told from
// new ones: telling each takes a search of the whole file, and an agent could
// have made it of nothing else.
const maxKnown = 16

// look finds the secrets that now holds and old does not: one that stood there
// before is not the action's doing. Only what changed is looked through, as far
// around it as a secret could reach.
func (m *marksOf) look(old, now []byte, f *found) {
	known := 0
	isNew := func(secret []byte) bool {
		known++
		return known > maxKnown || !bytes.Contains(old, secret)
	}
	if m.key >= 0 {
		for block, rest := keyBlock(now); block != nil && !f.has(m.key); block, rest = keyBlock(rest) {
			if isNew(block) {
				f.add(m.key)
			}
		}
	}
	from, to := changed(old, now)
	for at := max(from, 1); at < to; at++ {
		filed := m.leads[now[at]]
		if filed == nil {
			continue
		}
		for i := range filed[now[at-1]] {
			l := &filed[now[at-1]][i]
			if f.has(l.entry) {
				continue // before the text is looked at: it may be nothing but leads
			}
			if secret := l.at(now, at); secret != nil && isNew(secret) {
				f.add(l.entry)
			}
		}
	}
}

// at gives the secret whose lead has its trigger at this place, or nil.
func (l *lead) at(text []byte, at int) []byte {
	start := at - l.trigger
	if start < 0 || !bytes.HasPrefix(text[start:], []byte(l.text)) ||
		start > 0 && alphabets[text[start-1]]&words != 0 { // the tail of a longer word
		return nil
	}
	least := start + len(l.text) + l.least
	end := start + len(l.text)
	for end < len(text) && alphabets[text[end]]&l.set != 0 {
		end++
	}
	if end < least {
		return nil
	}
	return text[start:end]
}

// changed gives the part of now that is not as it was in old, widened to whole
// runs of letters that a secret could be made of.
func changed(old, now []byte) (from, to int) {
	from = alike(old, now)
	to = len(now) - alikeAtEnd(old[from:], now[from:])
	for from > 0 && alphabets[now[from-1]]&tokens != 0 {
		from--
	}
	for to < len(now) && alphabets[now[to]]&tokens != 0 {
		to++
	}
	return from, to
}

// step is how many bytes are compared at once.
const step = 128

// alike gives how many bytes two texts begin with alike.
func alike(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+step <= most && bytes.Equal(a[n:n+step], b[n:n+step]) {
		n += step
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// alikeAtEnd gives how many bytes two texts end with alike.
func alikeAtEnd(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+step <= most && bytes.Equal(a[len(a)-n-step:len(a)-n], b[len(b)-n-step:len(b)-n]) {
		n += step
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// keyBlock gives the first private key of a text, from its first line to its
// last or to the end of the text, and what follows it. How far a line is looked
// at is bounded, so that a text of nothing but beginnings is walked once.
func keyBlock(text []byte) (block, rest []byte) {
	const begin, label = "BEGIN ", 64
	for i := 0; ; {
		next := bytes.Index(text[i:], []byte(begin))
		if next < 0 {
			return nil, nil
		}
		start := i + next
		i = start + len(begin)
		line := text[i:min(i+label, len(text))]
		if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
			line = line[:end]
		}
		if dashed(text, start) && bytes.Contains(line, []byte("PRIVATE KEY")) {
			end := keyEnd(text, i)
			return text[start:end], text[end:]
		}
	}
}

// keyEnd gives where a block that begins before from ends.
func keyEnd(text []byte, from int) int {
	for {
		next := bytes.Index(text[from:], []byte("END"))
		if next < 0 {
			return len(text)
		}
		from += next
		if dashed(text, from) {
			return from
		}
		from += len("END")
	}
}

// dashed says whether dashes stand before a place, or one or two spaces behind
// them.
func dashed(text []byte, at int) bool {
	return bytes.HasSuffix(bytes.TrimRight(text[max(at-6, 0):at], " "), []byte("----"))
}
