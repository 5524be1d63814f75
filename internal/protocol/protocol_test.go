package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/action"
	"countersign/internal/canon"
)

// messages are the types that go over a socket.
func messages() []any {
	return []any{
		&ActParams{}, &IDParams{}, &LogParams{}, &ListResult{}, &ShowResult{}, &DecideParams{}, &UndoParams{}, &VerifyResult{},
		&StatusResult{}, &Transaction{}, &CaptureParams{}, &CaptureResult{}, &ReadParams{}, &ReadResult{}, &IntentParams{}, &Outcome{},
		&ExecutorStatusResult{}, &GrepParams{}, &GrepResult{},
		&GitStatusParams{}, &GitStatusResult{}, &GitLogParams{}, &GitLogResult{}, &GitDiffParams{}, &GitDiffResult{},
		&GitShowParams{}, &GitShowResult{}, &GitBlameParams{}, &GitBlameResult{}, &GitBranchesParams{}, &GitBranchesResult{},
	}
}

// fill makes no field empty, but that an action is one kind.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[action.Action]() {
		v.Set(reflect.ValueOf(action.Action{FileWrite: &action.FileWrite{Changes: []action.Change{{Path: "/a", Delete: &action.Delete{}}}}}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(1_700_000_000_000_000_007)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	}
}

// T2: every message, empty and with no field empty, travels to an equal value
// and back to the same bytes.
func TestMessagesTravel(t *testing.T) {
	for _, m := range messages() {
		typ := reflect.TypeOf(m).Elem()
		for _, full := range []bool{false, true} {
			in := reflect.New(typ)
			if full {
				fill(in.Elem())
			}
			b, err := canon.Encode(in.Interface())
			if err != nil {
				t.Fatal(err)
			}
			out := reflect.New(typ)
			if err := canon.Decode(b, out.Interface()); err != nil {
				t.Errorf("%s: %v", typ.Name(), err)
				continue
			}
			if full && !reflect.DeepEqual(in.Elem().Interface(), out.Elem().Interface()) {
				t.Errorf("%s: %+v arrives as %+v", typ.Name(), in.Elem(), out.Elem())
			}
			again, err := canon.Encode(out.Interface())
			if err != nil || !bytes.Equal(b, again) {
				t.Errorf("%s: %x, then %x", typ.Name(), b, again)
			}
		}
	}
}

// T2: every field has a key of its own in one spelling, and no key differs from
// another by case alone.
func TestKeysHaveOneSpelling(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		keys := map[string]bool{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Anonymous { // its keys stand among the others
				walk(f.Type)
				continue
			}
			key, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
			if !form.MatchString(key) || keys[key] {
				t.Errorf("%s.%s has the key %q", typ, f.Name, key)
			}
			keys[key] = true
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != strings.ReplaceAll(key, "-", "_") {
				t.Errorf("%s.%s is %q in JSON and %q on the wire", typ, f.Name, name, key)
			}
			walk(f.Type)
		}
	}
	for _, m := range messages() {
		walk(reflect.TypeOf(m))
	}
}

// T14: the states a transaction passes through are three, and all others end
// it.
func TestEnded(t *testing.T) {
	for s, want := range map[State]bool{
		StateWaiting: false, StateApproved: false, StateIntent: false, StateLanded: true, StateNotLanded: true, StateUnknown: true,
		StateRefused: true, StateDenied: true, StateWithdrawn: true, StateExpired: true,
	} {
		if s.Ended() != want {
			t.Errorf("%s: ended %v", s, s.Ended())
		}
	}
}

// T1: each method has one name, of the process that serves it.
func TestMethodNames(t *testing.T) {
	seen := map[string]bool{}
	for want, names := range map[string][]string{
		"keeper.":   {Act, Await, Withdraw, Pending, Show, Log, Decide, Undo, Verify, Status, Allow, Revoke},
		"executor.": {Read, Capture, FileWrite, Settle, ExecutorStatus, GitStatus, GitLog, GitDiff, GitShow, GitBlame, GitBranches},
	} {
		for _, name := range names {
			if !strings.HasPrefix(name, want) || seen[name] {
				t.Errorf("method %q", name)
			}
			seen[name] = true
		}
	}
}

// O2: a time is RFC 3339 in UTC, to the nanosecond, and reads back.
func TestTimeInJSON(t *testing.T) {
	for in, want := range map[Time]string{
		1_700_000_000_000_000_007: `"2023-11-14T22:13:20.000000007Z"`,
		-1:                        `"1969-12-31T23:59:59.999999999Z"`,
	} {
		b, err := json.Marshal(in)
		if err != nil || string(b) != want {
			t.Errorf("%d: %s, %v", in, b, err)
		}
		var out Time
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("%s reads %d, %v", b, out, err)
		}
	}
	var out Time
	for _, s := range []string{`""`, `"now"`, `"2023-11-14"`, `"2023-11-14 22:13:20"`} {
		if err := json.Unmarshal([]byte(s), &out); err == nil {
			t.Errorf("%s is read as a time", s)
		}
	}
}

// O2: what has not happened is left out of the JSON, not dated 1970.
func TestTimesNotYet(t *testing.T) {
	b, err := json.Marshal(Transaction{Proposed: 1})
	if err != nil || strings.Contains(string(b), "decided") || strings.Contains(string(b), "ended") || !strings.Contains(string(b), `"proposed"`) {
		t.Errorf("%s, %v", b, err)
	}
}
