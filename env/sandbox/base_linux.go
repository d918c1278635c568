package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// machine decides what commands see of the machine besides the roots.
type machine struct {
	plan    *plan
	home    string // as commands see it
	environ []string
	shown   []string // the system's directories
	args    []string // for bubblewrap
}

// homeOf returns the home directory, or "" if the environment has none of use.
func homeOf(environ []string) string {
	home := filepath.Clean(getenv(environ, "HOME"))
	if !filepath.IsAbs(home) || home == "/" || home == "/tmp" {
		return ""
	}
	return home
}

// homesOf returns the home directory as the environment has it, and with the path that it really
// has.
func homesOf(environ []string) []string {
	home := homeOf(environ)
	if home == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(home); err == nil && real != home {
		return []string{home, real}
	}
	return []string{home}
}

// system mounts the system's directories. On most systems /bin and the like are links into /usr.
func (m *machine) system() {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
		"/gnu", "/snap", "/run/current-system"} {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if to, err := os.Readlink(dir); info.Mode()&fs.ModeSymlink != 0 && err == nil {
			m.args = append(m.args, "--symlink", to, dir)
			continue
		}
		if list, err := os.ReadDir(dir); err == nil && len(list) == 0 {
			continue
		}
		m.bind(dir)
	}
}

// bind mounts a directory or file of the system.
func (m *machine) bind(name string) {
	if !slices.ContainsFunc(m.shown, func(dir string) bool { return below(name, dir) }) {
		m.shown = append(m.shown, name)
		m.args = append(m.args, "--ro-bind", name, name)
	}
}

// show mounts a directory or file read-only at its own path, unless it does not exist, is there
// already or contains what is hidden.
func (m *machine) show(name string) {
	if !filepath.IsAbs(name) {
		return
	}
	name = filepath.Clean(name)
	real, err := filepath.EvalSymlinks(name)
	if err != nil || m.plan.unfit(name) != "" || m.plan.unfit(real) != "" || m.plan.shows(name) {
		return
	}
	if !slices.ContainsFunc(m.shown, func(dir string) bool { return below(name, dir) }) {
		m.plan.add(mount{path: name, readOnly: true})
	}
}

// maxEtc limits the files of /etc that are looked at.
const maxEtc = 20_000

// secrets calls found for each file and directory in /etc that not everybody may read. A command
// that runs as root could read them all.
func secrets(found func(name string, dir bool)) error {
	seen := 0
	return filepath.WalkDir("/etc", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // this user cannot read it either
		}
		if seen++; seen > maxEtc {
			return fmt.Errorf("/etc has more than %d files", maxEtc)
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return nil
		case d.IsDir() && info.Mode().Perm()&0o005 != 0o005:
			found(name, true)
			return fs.SkipDir
		case d.Type().IsRegular() && info.Mode().Perm()&0o004 == 0:
			found(name, false)
		}
		return nil
	})
}

// toolChains mounts what the programs in PATH need, and the caches of packages that builds read.
func (m *machine) toolChains(o *Options) {
	show := m.show
	for _, name := range []string{"GOROOT", "JAVA_HOME", "JDK_HOME", "RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "VIRTUAL_ENV",
		"PYENV_ROOT", "CONDA_PREFIX",
		"VOLTA_HOME", "RBENV_ROOT", "DOTNET_ROOT", "MAVEN_HOME", "M2_HOME", "ASDF_DIR", "ASDF_DATA_DIR",
		"MISE_DATA_DIR", "HOMEBREW_PREFIX"} {
		show(getenv(m.environ, name))
	}
	if m.home != "" {
		for _, name := range inHome {
			show(filepath.Join(m.home, name))
		}
	}
	for _, dir := range filepath.SplitList(getenv(m.environ, "PATH")) {
		if prefix := filepath.Dir(dir); prefix != m.home && isPrefix(prefix) && prefix != filepath.Join(m.home,
			".local") {
			show(prefix)
		}
		show(dir)
	}
	if !o.Network && len(o.AllowHosts) == 0 {
		for _, name := range packages {
			if m.home != "" {
				show(filepath.Join(m.home, name))
			}
		}
		if cargo := getenv(m.environ, "CARGO_HOME"); cargo != "" {
			show(filepath.Join(cargo, "registry"))
			show(filepath.Join(cargo, "git"))
		}
	}
	show(m.modules())
	for _, dir := range o.Caches {
		show(dir)
	}
}

// inHome lists the directories of tool chains in a home directory. None of them holds credentials.
var inHome = []string{".cargo/bin", ".cargo/env", ".rustup/settings.toml", ".rustup/toolchains", ".pyenv", ".nvm",
	".volta/bin", ".volta/tools", ".rbenv", ".asdf", ".sdkman/candidates", ".bun/bin",
	".deno/bin", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/uv", ".local/share/pnpm", ".ghcup/bin",
	".dotnet", "go/bin", "sdk"}

// packages lists the caches of packages in a home directory. Tools that download write in them, so
// they are shown only without a network.
var packages = []string{".cargo/registry", ".cargo/git", ".npm/_cacache", ".m2/repository", ".nuget/packages"}

// isPrefix reports whether a directory holds an installation of programs, in bin, with what they
// need.
func isPrefix(dir string) bool {
	for _, name := range []string{"lib", "libexec", "src/runtime"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// modules returns the host's cache of Go modules.
func (m *machine) modules() string {
	if dir := getenv(m.environ, "GOMODCACHE"); dir != "" {
		return dir
	}
	if path := getenv(m.environ, "GOPATH"); path != "" {
		return filepath.Join(filepath.SplitList(path)[0], "pkg/mod")
	}
	if m.home == "" {
		return ""
	}
	return filepath.Join(m.home, "go/pkg/mod")
}

// resolver mounts the file that /etc/resolv.conf leads to, for commands with a network.
func (m *machine) resolver() {
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		m.bind(real)
	}
}
