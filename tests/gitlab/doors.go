package gitlab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Door is a way by which a configuration, an attribute or a hook has git run a
// program.
type Door struct {
	Name   string
	Config string // %[1]s is the program
	Fires  bool   // when plain git only looks; else it takes more than looking
	Filter string // the driver that it names, if it is one's
	Build  func(b *Builder, program string)
}

// Doors are those that are known.
func Doors() []Door {
	return []Door{
		{Name: "filter.clean", Config: "[filter \"d\"]\n\tclean = %[1]s\n", Fires: true, Filter: "d"},
		{Name: "filter.process", Config: "[filter \"d\"]\n\tprocess = %[1]s\n", Fires: true, Filter: "d"},
		{Name: "filter.required", Config: "[filter \"d\"]\n\tclean = %[1]s\n\tsmudge = %[1]s\n\trequired = true\n", Fires: true, Filter: "d"},
		{Name: "filter of an odd name", Config: "[filter \"d=e\"]\n\tclean = %[1]s\n", Fires: true, Filter: "d=e"},
		{Name: "textconv", Config: "[diff \"d\"]\n\ttextconv = %[1]s\n", Fires: true},
		{Name: "diff.command", Config: "[diff \"d\"]\n\tcommand = %[1]s\n", Fires: true},
		{Name: "diff.external", Config: "[diff]\n\texternal = %[1]s\n", Fires: true},
		{Name: "fsmonitor", Config: "[core]\n\tfsmonitor = %[1]s\n", Fires: true},
		{Name: "gpg", Config: "[gpg]\n\tprogram = %[1]s\n[log]\n\tshowSignature = true\n", Fires: true},
		{Name: "gpg of a form", Config: "[gpg \"openpgp\"]\n\tprogram = %[1]s\n[log]\n\tshowSignature = true\n", Fires: true},
		{Name: "hooksPath", Config: "[core]\n\thooksPath = %[2]s\n", Fires: true},
		{Name: "a hook", Fires: true, Build: func(b *Builder, program string) {
			b.Write(".git/hooks/post-index-change", "#!/bin/sh\nexec "+program+"\n")
			b.check(os.Chmod(b.Root+"/.git/hooks/post-index-change", 0o755))
		}},
		{Name: "pager", Config: "[core]\n\tpager = %[1]s\n[pager]\n\tlog = %[1]s\n\tdiff = %[1]s\n\tstatus = %[1]s\n"},
		{Name: "alias", Config: "[alias]\n\tstatus = !%[1]s\n\tlog = !%[1]s\n"},
		{Name: "editors and askers", Config: "[core]\n\teditor = %[1]s\n\taskPass = %[1]s\n\tsshCommand = %[1]s\n\tgitProxy = %[1]s\n[sequence]\n\teditor = %[1]s\n[credential]\n\thelper = %[1]s\n"},
		{Name: "alternateRefsCommand", Config: "[core]\n\talternateRefsCommand = %[1]s\n"},
		{Name: "merge driver", Config: "[merge \"d\"]\n\tdriver = %[1]s\n"},
		{Name: "trailer", Config: "[trailer \"d\"]\n\tcommand = %[1]s\n\tcmd = %[1]s\n"},
		{Name: "submodule", Fires: true, Build: func(b *Builder, program string) {
			inner := b.Home + "/inner"
			b.GitIn(b.Home, "clone", "-q", b.Root, inner)
			b.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub")
			b.Git("commit", "-q", "-m", "with a submodule")
			b.Append(".git/modules/sub/config", "[core]\n\tfsmonitor = "+program+"\n[submodule]\n\trecurse = true\n")
			b.Append("sub/a.txt", "x\n")
		}},
		{Name: "missing objects", Fires: true, Build: func(b *Builder, program string) {
			b.Config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\turl = ext::" + program + "\n\tpromisor = true\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n")
			hash := b.Git("rev-parse", "HEAD:d.txt")
			b.Remove(".git/objects/" + hash[:2] + "/" + hash[2:])
		}},
	}
}

// Where are the places that a configuration can be in.
func Where() []string {
	return []string{"repository", "include", "includeIf", "work tree", "person", "person's include"}
}

// Arm builds a repository with a door in a place, in which looking finds
// changes, an unsigned and a signed commit, and an index to refresh. The door's
// program writes a file that Fired finds.
func (b *Builder) Arm(d Door, where string) {
	b.t.Helper()
	program := b.Home + "/canary"
	b.Write(program, "#!/bin/sh\necho fired >> "+b.Away+"/fired\nexit 0\n")
	b.check(os.Chmod(program, 0o755))
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit", "post-checkout"} {
		b.Write(b.Home+"/hooks/"+hook, "#!/bin/sh\nexec "+program+"\n")
		b.check(os.Chmod(b.Home+"/hooks/"+hook, 0o755))
	}
	b.Init()
	driver := "d"
	if d.Filter != "" {
		driver = d.Filter
	}
	b.Write(".gitattributes", "*.txt diff=d merge=d\nt.txt filter="+driver+"\n")
	b.Write("t.txt", "t\n")
	b.Commit("with attributes")
	b.sign()
	b.Append("t.txt", "more\n")
	b.Append("a.txt", "more\n")
	b.check(os.Chtimes(b.Root+"/d.txt", old(), old())) // an index that looking would refresh
	if d.Build != nil {
		d.Build(b, program)
	}
	if d.Config == "" {
		return
	}
	text := strings.ReplaceAll(strings.ReplaceAll(d.Config, "%[1]s", program), "%[2]s", b.Home+"/hooks")
	switch where {
	case "repository":
		b.Config(text)
	case "include":
		b.Write(".git/more", text)
		b.Config("[include]\n\tpath = more\n")
	case "includeIf":
		b.Write(b.Home+"/more", text)
		b.Config(fmt.Sprintf("[includeIf \"gitdir:%s/**\"]\n\tpath = %s/more\n", b.Home, b.Home))
	case "work tree":
		b.Git("config", "extensions.worktreeConfig", "true")
		b.Write(".git/config.worktree", text)
	case "person":
		b.Persons(text)
	case "person's include":
		b.Write(b.Home+"/more", text)
		b.Persons("[include]\n\tpath = ~/more\n")
	}
}

// sign puts a commit on top that claims to be signed.
func (b *Builder) sign() {
	b.t.Helper()
	raw := b.Git("cat-file", "commit", "HEAD")
	head, body, _ := strings.Cut(raw, "\n\n")
	signed := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n" + body + "\n"
	b.Write(b.Home+"/signed", signed)
	hash := b.Git("hash-object", "-t", "commit", "-w", b.Home+"/signed")
	b.Git("update-ref", "HEAD", hash)
	b.Remove(b.Home + "/signed")
}

// Fired says whether a door's program has run, and forgets it.
func (b *Builder) Fired() bool {
	b.t.Helper()
	at := filepath.Join(b.Away, "fired")
	_, err := os.Lstat(at)
	os.Remove(at)
	return err == nil
}

// Look has plain git look at everything that Countersign can be asked.
func (b *Builder) Look() {
	for _, args := range [][]string{{"status", "--porcelain"}, {"diff"}, {"diff", "HEAD~1", "HEAD"}, {"log", "-n", "3", "-p"}, {"show"}, {"blame", "t.txt"}, {"blame", "HEAD", "--", "a.txt"},
		{"branch", "-a"}, {"cat-file", "blob", "HEAD:d.txt"}} {
		b.Try(b.Root, slices.Concat([]string{"-c", "protocol.ext.allow=always"}, args)...) // some doors make it fail
	}
}
