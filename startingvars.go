package attractor

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

// startNames are the variables of the user that start something.
type startNames struct {
	// fileVars name files or directories that later programs run or read as their configuration.
	fileVars []string
	// commandVars have commands for a shell, and optionVars other commands, options of programs, or
	// directories of modules.
	commandVars, optionVars []string
}

// namesThatStart returns the known ones.
func namesThatStart() startNames {
	return startNames{
		fileVars: []string{"BASH_ENV", "ENV", "ZDOTDIR", "INPUTRC", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
			"GIT_DIR", "GIT_TEMPLATE_DIR", "GIT_EXEC_PATH", "PYTHONSTARTUP", "MYVIMRC", "GNUPGHOME", "KUBECONFIG",
			"DOCKER_CONFIG", "AWS_CONFIG_FILE", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE",
			"CARGO_HOME", "ANSIBLE_CONFIG", "TF_CLI_CONFIG_FILE", "SCREENRC", "PSQLRC", "WGETRC", "CURL_HOME",
			"MAKEFILES", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GOENV", "RIPGREP_CONFIG_PATH", "LESSKEY",
			"LESSKEYIN", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "PYTHONUSERBASE", "OPENSSL_CONF", "GIT_ATTR_SYSTEM",
			"XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"},
		commandVars: []string{"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "SUDO_EDITOR", "FCEDIT",
			"GIT_PAGER", "PAGER", "MANPAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS",
			"SUDO_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "BROWSER", "PROMPT_COMMAND", "RUSTC",
			"RUSTC_WRAPPER"},
		optionVars: []string{"SHELL", "LESSOPEN", "LESSCLOSE", "PS4", "NODE_OPTIONS", "RUBYOPT", "RUBYLIB", "PERL5OPT",
			"PERL5LIB", "PERL5DB", "PYTHONPATH", "NODE_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
			"MAVEN_OPTS", "GRADLE_OPTS", "VIMINIT", "EXINIT", "GOFLAGS", "MAKEFLAGS"},
	}
}

// namedByVariables returns the files that the user's variables name, and that later programs run or
// read as their configuration. exposed says which variable with a command or options names
// something in the session's directories, because these may load any file there, or has a command
// that may run any. Of variables that are not known, programs count.
func namedByVariables(roots []string, here string, c *config) (names []string, exposed string) {
	v := startVariables{roots, here, c.getenv}
	known := namesThatStart()
	for _, variable := range known.fileVars {
		names = append(names, v.files(variable)...)
	}
	for _, variable := range slices.Concat(known.commandVars, known.optionVars) {
		if exposed == "" && v.mentions(variable) {
			exposed = exposes("the variable "+variable, "it names something in the session's directories")
		}
	}
	for _, variable := range known.commandVars {
		files, why := v.runBy(variable)
		if names = append(names, files...); exposed == "" && why != "" {
			exposed = exposes("the variable "+variable, why)
		}
	}
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(slices.Concat(known.fileVars, known.commandVars, known.optionVars), name) {
			names = append(names, v.programs(name)...)
		}
	}
	return names, exposed
}

// startVariables finds what variables name in the session's directories.
type startVariables struct {
	roots  []string
	here   string
	getenv func(string) string
}

// maxVariable is the longest value that is looked at, in bytes.
const maxVariable = 32 << 10

// value returns that of a variable, as it is and with what a shell would put in.
func (v startVariables) value(name string) (plain, expanded string) {
	if plain = v.getenv(name); len(plain) > maxVariable {
		return "", ""
	}
	expanded = os.Expand(plain, func(inner string) string {
		end := strings.IndexFunc(inner, func(r rune) bool { return strings.ContainsRune(":-+=?#%/^,@", r) })
		if end < 0 {
			return v.getenv(inner)
		}
		if value := v.getenv(inner[:end]); value != "" {
			return value
		}
		return strings.TrimLeft(inner[end:], ":-=") // the default
	})
	return plain, expanded
}

// path returns the file that a word names.
func (v startVariables) path(word string) string {
	word = strings.Trim(word, `"'`)
	if rest, ok := strings.CutPrefix(word, "~/"); ok && v.getenv("HOME") != "" {
		word = filepath.Join(v.getenv("HOME"), rest)
	}
	if at := strings.Index(word, "file:"); at >= 0 {
		if u, err := url.Parse(word[at:]); err == nil && u.Path != "" {
			word = u.Path
		}
	}
	return pathFrom(v.here, word)
}

// files returns the files of a variable that has one or a list, with colons or blanks between them.
func (v startVariables) files(name string) (names []string) {
	plain, expanded := v.value(name)
	for _, value := range []string{plain, expanded} {
		for _, word := range append(filepath.SplitList(value), strings.Fields(value)...) {
			if file := v.path(word); name != "ENV" || !isStage(word, file) {
				names = append(names, file)
			}
		}
	}
	return names
}

// mentions reports whether a variable with a command, or with options, names something in the
// session's directories, or one of these.
func (v startVariables) mentions(name string) bool {
	plain, expanded := v.value(name)
	between := func(r rune) bool { return strings.ContainsRune(" \t\n:=,;|&()<>'\"`", r) }
	words := strings.FieldsFunc(plain+" "+expanded, between)
	for _, word := range strings.Fields(expanded) {
		if strings.Contains(word, "file:") {
			words = append(words, word)
		}
	}
	hasModules := slices.Contains([]string{"PERL5LIB", "RUBYLIB", "PYTHONPATH", "NODE_PATH"}, name) // in directories
	if name == "PYTHONPATH" && plain != "" && slices.Contains(filepath.SplitList(plain), "") {
		return true // the directory in which Python starts
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.ContainsFunc(inOption(word, hasModules), func(word string) bool {
			file := realPath(v.path(word))
			in := isBelow(v.roots, file) || slices.Contains(v.roots, file)
			return in && (strings.Contains(word, "/") || word == "." || isRegular(file))
		})
	})
}

// runBy returns the files that a variable with a command runs where the session works, or in a work
// tree around that, and what of it may run any file.
func (v startVariables) runBy(name string) (files []string, exposed string) {
	command, _ := v.value(name)
	if command == "" {
		return nil, ""
	}
	for _, dir := range append(git.Tops(v.here), v.here) {
		for _, root := range v.roots {
			named, why := runBy(root, dir, command)
			if files = append(files, named...); why != "" {
				exposed = why
			}
		}
	}
	if exposed == "" {
		exposed = foundInside(command, v.getenv("PATH"), v.roots)
	}
	return files, exposed
}

// inOption returns what may be a path in a word of a command: of -r./x and -/x what is behind the
// option. A directory of modules, also that of -Ilib, gets a ./ in front, because it may be made
// later.
func inOption(word string, hasModules bool) []string {
	plain := strings.TrimLeft(word, "-")
	value := word
	if plain != word {
		value = word[min(2, len(word)):]
	}
	switch {
	case filepath.IsAbs(plain):
		return []string{plain}
	case filepath.IsAbs(value):
		return []string{value}
	case value != "" && (hasModules || strings.HasPrefix(word, "-I")):
		return []string{"./" + value}
	}
	return []string{word, plain, value}
}

// programs returns the programs in the session's directories that any variable names.
func (v startVariables) programs(name string) (names []string) {
	_, value := v.value(name)
	if !strings.Contains(value, "/") {
		return nil
	}
	between := func(r rune) bool { return strings.ContainsRune(" \t\n:=,;|&()<>'\"`", r) }
	for _, word := range strings.FieldsFunc(value, between) {
		if !strings.Contains(word, "/") {
			continue
		}
		file := v.path(word)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			names = append(names, file)
		}
	}
	return names
}

// isRegular reports whether there is such a regular file.
func isRegular(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// isStage reports whether a value of ENV is no path: a shell takes it for its start-up file, and
// many projects for the name of a stage, such as dev. A word is a path only if there is such a
// file.
func isStage(value, file string) bool {
	info, err := os.Stat(file)
	return !filepath.IsAbs(value) && !strings.HasPrefix(value, ".") && (err != nil || info.IsDir())
}
