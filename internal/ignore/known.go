package ignore

// Known is a directory that whole walks pass over by its name.
type Known struct {
	Name   string
	Why    string
	Beside []string // one of these stands beside it; none: wherever it is
}

// knownTable is the directories of dependencies, builds and caches that are
// known by a name of their own or by what stands beside them: `build` is as
// often a package of source code. It never changes, and docs/policy.md shows
// it.
var knownTable = []Known{
	{".git", "a repository's own files", nil},
	{".hg", "a repository's own files", nil},
	{".svn", "a repository's own files", nil},
	{".jj", "a repository's own files", nil},

	{"node_modules", "dependencies", nil},
	{"bower_components", "dependencies", nil},
	{"jspm_packages", "dependencies", nil},
	{".yarn", "dependencies", []string{"package.json"}},
	{".pnpm-store", "dependencies", nil},
	{".venv", "dependencies", nil},
	{"venv", "dependencies", []string{"pyproject.toml", "setup.py", "requirements.txt", "setup.cfg"}},
	{"vendor", "dependencies", []string{"go.mod", "composer.json", "Gemfile", "Cargo.toml"}},
	{"Pods", "dependencies", []string{"Podfile"}},
	{"Carthage", "dependencies", []string{"Cartfile"}},
	{"deps", "dependencies", []string{"mix.exs"}},
	{"elm-stuff", "dependencies", nil},
	{".bundle", "dependencies", []string{"Gemfile"}},

	{"target", "build output", []string{"Cargo.toml", "pom.xml", "build.sbt"}},
	{"build", "build output", []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "CMakeLists.txt", "package.json", "setup.py", "pubspec.yaml"}},
	{"dist", "build output", []string{"package.json", "setup.py", "pyproject.toml"}},
	{"_build", "build output", []string{"mix.exs", "dune-project", "rebar.config"}},
	{"dist-newstyle", "build output", nil},
	{".stack-work", "build output", nil},
	{".next", "build output", nil},
	{".nuxt", "build output", nil},
	{".svelte-kit", "build output", nil},
	{".dart_tool", "build output", nil},
	{".build", "build output", []string{"Package.swift"}},
	{"zig-out", "build output", []string{"build.zig"}},

	{"__pycache__", "a cache", nil},
	{".mypy_cache", "a cache", nil},
	{".pytest_cache", "a cache", nil},
	{".ruff_cache", "a cache", nil},
	{".tox", "a cache", nil},
	{".nox", "a cache", nil},
	{".gradle", "a cache", nil},
	{".parcel-cache", "a cache", nil},
	{".turbo", "a cache", nil},
	{".terraform", "a cache", nil},
	{".direnv", "a cache", nil},
	{".zig-cache", "a cache", nil},
	{"zig-cache", "a cache", []string{"build.zig"}},
	{".ccache", "a cache", nil},
}

// homeTable is the same by place, relative to the home.
var homeTable = []Known{
	{".cache", "a cache", nil},
	{".npm", "a cache", nil},
	{".cargo/registry", "a cache", nil},
	{".cargo/git", "a cache", nil},
	{".rustup", "installed tools", nil},
	{".nvm", "installed tools", nil},
	{".pyenv", "installed tools", nil},
	{".rbenv", "installed tools", nil},
	{".sdkman", "installed tools", nil},
	{".m2/repository", "a cache", nil},
	{".ivy2", "a cache", nil},
	{".nuget/packages", "a cache", nil},
	{".local/share/Trash", "what was thrown away", nil},
	{".local/share/containers", "images", nil},
	{".local/share/flatpak", "installed programs", nil},
	{".local/share/pnpm", "a cache", nil},
	{".local/share/uv", "installed tools", nil},
	{".var/app", "installed programs", nil},
	{"go/pkg", "dependencies", nil},
	{"snap", "installed programs", nil},
}

// knownIndex and homeIndex are the tables by name; they never change.
var knownIndex, homeIndex = byName(knownTable), byName(homeTable)

func byName(table []Known) map[string]*Known {
	x := make(map[string]*Known, len(table))
	for i := range table {
		x[table[i].Name] = &table[i]
	}
	return x
}

// Directories and InHome give the tables, for those who show them: directories
// known by their names, and by their places in a home.
func Directories() []Known { return append([]Known(nil), knownTable...) }

// InHome is described at Directories.
func InHome() []Known { return append([]Known(nil), homeTable...) }

// PassedOver says whether a directory is passed over for its name; beside says
// whether a name stands beside it.
func PassedOver(name string, beside func(string) bool) bool {
	k := knownIndex[name]
	if k == nil || len(k.Beside) == 0 {
		return k != nil
	}
	for _, b := range k.Beside {
		if beside(b) {
			return true
		}
	}
	return false
}

// PassedOverInHome says whether a directory is passed over for its place, its
// path relative to the home.
func PassedOverInHome(relative string) bool { return homeIndex[relative] != nil }
