package policy

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"countersign/internal/action"
)

// version is the only form of the file that this program reads.
const version = 1

// file is a policy as it is written. What a document leaves out keeps what
// defaults put there; a pointer tells an absent key from an empty one.
type file struct {
	Version    *int64                `toml:"version"`
	Homes      string                `toml:"homes"`
	Persons    map[string]filePerson `toml:"persons"`
	Agents     map[string]fileAgent  `toml:"agents"`
	Filesystem fileFilesystem        `toml:"filesystem"`
	Decide     fileDecide            `toml:"decide"`
	Classify   fileClassify          `toml:"classify"`
	Consent    fileConsent           `toml:"consent"`
	Limits     fileLimits            `toml:"limits"`
	Keep       fileKeep              `toml:"keep"`
}

type filePerson struct {
	UID    *uint32     `toml:"uid"`
	Home   *string     `toml:"home"`
	Owners *[]string   `toml:"owners"`
	Umask  *string     `toml:"umask"`
	Read   []fileGrant `toml:"read"`
	Write  []fileGrant `toml:"write"`
}

type fileGrant struct {
	Root        *string   `toml:"root"`
	Include     *[]string `toml:"include"`
	Ignore      *[]string `toml:"ignore"`
	FollowLinks bool      `toml:"follow_links"`
	CrossMounts bool      `toml:"cross_mounts"`
	MaxFileSize *string   `toml:"max_file_size"`
}

type fileAgent struct {
	UID     *uint32  `toml:"uid"`
	Persons []string `toml:"persons"`
}

type fileFilesystem struct {
	SnapshotRoots []string `toml:"snapshot_roots"`
	DenyExcept    []string `toml:"deny_except"`
}

type fileDecide struct {
	FileWrite  string   `toml:"file-write"`
	FileDelete string   `toml:"file-delete"`
	GitCommit  string   `toml:"git-commit"`
	GitDiscard string   `toml:"git-discard"`
	Ask        []string `toml:"ask"`
}

type fileClassify struct {
	Also   []string    `toml:"also"`
	Except []string    `toml:"except"`
	Entry  []fileEntry `toml:"entry"`
}

type fileEntry struct {
	Name     *string  `toml:"name"`
	Reason   *string  `toml:"reason"`
	Patterns []string `toml:"patterns"`
}

type fileConsent struct {
	Expire          string `toml:"expire"`
	PendingPerAgent int64  `toml:"pending_per_agent"`
	Unseparated     bool   `toml:"unseparated"`
}

type fileLimits struct {
	AskedText string `toml:"asked_text"`
	AutoBytes string `toml:"auto_bytes"`
	Large     string `toml:"large"`
}

type fileKeep struct {
	Captures string `toml:"captures"`
	Size     string `toml:"size"`
}

// What a person or a grant has that names nothing else. An owner's list that
// is left out has the person alone.
const (
	defaultUmask       = "022"
	defaultMaxFileSize = "8MiB"
)

// defaults is what an absent key means.
func defaults() file {
	return file{
		Homes:      "/home",
		Filesystem: fileFilesystem{SnapshotRoots: []string{"~"}},
		Decide: fileDecide{FileWrite: "auto", FileDelete: "auto", GitCommit: "auto", GitDiscard: "ask",
			Ask: []string{"not-captured", "outside-snapshot", "runs-later", "credentials", "permissions-widened", "attributes-lost",
				"binary-content", "large", "others-work", "foreign-identity"}},
		Consent: fileConsent{Expire: "24h", PendingPerAgent: 200},
		Limits:  fileLimits{AskedText: "64KiB", AutoBytes: "8MiB", Large: "256KiB"},
		Keep:    fileKeep{Captures: "30d", Size: "5GiB"},
	}
}

// Parse reads a policy. Where anything is wrong with it the error is an
// *Invalid with everything that is, as far as the form of the file lets it be
// looked at; a policy is sound or it is not there.
func Parse(data []byte) (*Policy, error) {
	if len(data) > MaxFile {
		return nil, &Invalid{Problems: []Problem{problem(0, "", errTooLarge.Error())}}
	}
	// The form first, and the version, so that a file of a later version is
	// refused for that and not for a key that this one does not know.
	var head struct {
		Version any `toml:"version"`
	}
	if err := toml.Unmarshal(data, &head); err != nil {
		return nil, malformed(err, false)
	}
	where, err := linesOf(data)
	if err != nil {
		return nil, malformed(err, false)
	}
	r := &report{lines: where}
	if head.Version != int64(version) {
		r.add("version", "this program reads version = %d and no other", version)
		return nil, r.err()
	}
	f := defaults()
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, malformed(err, true)
	}
	r.spelling()
	p := build(&f, r)
	if err := r.err(); err != nil {
		return nil, err
	}
	p.Digest = action.HashOf(data)
	return p, nil
}

// malformed gives our account of an error of the decoder's: of what is no TOML
// or, where that much is known, of keys that are not there and of a value that
// its key cannot hold.
func malformed(err error, wellFormed bool) error {
	var strict *toml.StrictMissingError
	var one *toml.DecodeError
	out := &Invalid{}
	switch {
	case errors.As(err, &strict):
		for i := range strict.Errors {
			out.Problems = append(out.Problems, unknown(&strict.Errors[i]))
		}
	case errors.As(err, &one):
		line, _ := one.Position()
		text := strings.TrimPrefix(one.Error(), "toml: ")
		if form := formOf(one.Key()); wellFormed && form != "" {
			text = "it must be " + form
		}
		out.Problems = []Problem{problem(line, strings.Join(one.Key(), "."), text)}
	default:
		out.Problems = []Problem{problem(0, "", err.Error())}
	}
	return out
}

func unknown(e *toml.DecodeError) Problem {
	line, _ := e.Position()
	key, why := strings.Join(e.Key(), "."), "there is no such key"
	switch key {
	case "decide." + string(action.CapGitPush):
		why += ": a push has no hands, so there is nothing to decide"
	case "decide." + string(action.CapUndo):
		why += ": an undo is the owner's own"
	}
	return problem(line, key, why)
}

// spelling refuses keys in capital letters, which the decoder would take for
// the same keys.
func (r *report) spelling() {
	for key := range r.lines {
		parts := strings.Split(key, ".")
		if len(parts) > 1 && slices.Contains([]string{"persons", "agents"}, parts[0]) {
			parts[1] = "" // a name, which has a rule of its own
		}
		if whole := strings.Join(parts, "."); whole != strings.ToLower(whole) {
			r.add(key, "there is no such key: keys are written in small letters")
		}
	}
}
