package shell

import (
	_ "embed" // the wrappers
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// use says what a command runs besides its program.
type use struct {
	why     string   // why it is not certain; empty means that it is
	inner   [][]word // the commands that it runs, or that it may run if it is not certain
	scripts []string // the scripts that it runs
	beside  []string // scripts that it runs beside what it does itself
	hidden  bool     // it runs a script that is not literal
	reads   bool     // it reads a script from its input
	child   bool     // it runs them in a process of its own
	moves   bool     // it may change the directory of the script
}

// wraps reports whether the command does nothing but run others.
func (u *use) wraps() bool { return len(u.inner)+len(u.scripts) > 0 }

// usage returns what a command runs besides its program.
func usage(words []word) use {
	program := words[0]
	if !isLiteral(program) || program.text == "" {
		return use{moves: true}
	}
	name := path.Base(program.text)
	switch name {
	case "pushd", "popd":
		return use{moves: true}
	case "eval":
		return use{why: "eval runs its arguments as a script", moves: true}
	case "trap":
		return use{why: "trap runs a script later", child: true}
	case ".", "source":
		return use{why: name + " runs a file as a script", reads: len(words) > 1 && isInput(words[1]), moves: true}
	case "alias", "unalias", "enable", "hash", "shopt", "bind", "complete", "set":
		if name == "set" && harmlessSet(words[1:]) {
			return use{}
		}
		return use{why: name + " may change what later commands do", child: true}
	// behind command or quotes
	case "export", "declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts", "unset":
		return use{why: name + " may set variables"}
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh":
		return shells(name, words)
	case "find":
		return finds(name, words, "-exec", "-execdir", "-ok", "-okdir")
	case "fd", "fdfind":
		return finds(name, words, "-x", "-X", "--exec", "--exec-batch")
	}
	if w, ok := wrapperOf(name); ok {
		return w.use(name, words)
	}
	return use{}
}

// literals returns the words that are literal, for scripts that are only read to deny them.
func literals(words []word) (texts []string) {
	for _, a := range words {
		if a.unclear == "" {
			texts = append(texts, a.text)
		}
	}
	return texts
}

// sameToZsh holds the characters that certainly mean the same to zsh as to other shells, but for
// the operator &|.
const sameToZsh = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./,:@+-&|;'\"\n"

// shells returns the script of sh -c. A shell that runs a file is a program like others.
func shells(name string, words []word) use {
	has := false
	i := 1
	for ; i < len(words) && strings.HasPrefix(words[i].text, "-") && words[i].unclear == "" &&
		words[i].text != "--"; i++ {
		option := words[i].text
		has = has || !strings.HasPrefix(option, "--") && strings.Contains(option, "c")
		switch {
		case strings.HasSuffix(option, "o") && i+1 < len(words) && harmlessSet(words[i:i+2]):
			i++
		case option == "--login", option == "--norc", option == "--noprofile", strings.Trim(option[1:], "celux") == "":
		case !has && !slices.ContainsFunc(words[i:], mayTakeScript):
			return use{reads: readsInput(words)}
		default:
			return use{why: "the option " + option + " of " + name + " is not known here",
				scripts: literals(words[i+1:]), child: true, hidden: !all(words[i+1:], isLiteral)}
		}
	}
	if i < len(words) && words[i].text == "--" {
		i++
	}
	u := use{child: true}
	switch {
	case !has:
		return use{reads: readsInput(words)}
	case i == len(words) || !isLiteral(words[i]):
		u.why, u.hidden = "it is not literal which script "+name+" runs", i < len(words)
		return u
	case name == "ksh" || name == "mksh" || name == "zsh" && (strings.Trim(words[i].text, sameToZsh) != "" ||
		strings.Contains(words[i].text, "&|")):
		u.why = "the script may mean something else to " + name
	}
	u.scripts = []string{words[i].text}
	return u
}

// mayTakeScript reports whether a word may be an option of a shell that has a script behind it.
func mayTakeScript(a word) bool {
	return strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "c")
}

// readsInput reports whether a shell without -c reads its script from its input, or may have a -c
// that is not literal.
func readsInput(words []word) bool {
	for i := 1; i < len(words); i++ {
		a := words[i].text
		long := strings.HasPrefix(a, "--")
		switch {
		case !isLiteral(words[i]):
			// a name of a file, if it is one word and there is nothing that -c would run
			return !isQuoted(words[i]) || i+1 < len(words)
		case a == "--version", a == "--help":
			return false
		case a == "-", a == "--":
			return i+1 == len(words) || isInput(words[i+1])
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			return isInput(words[i])
		case a == "--rcfile", a == "--init-file", !long && strings.HasSuffix(strings.ToLower(a), "o"):
			i++
		case !long && strings.Contains(a, "s"):
			return true
		}
	}
	return true
}

// isInput reports whether a word names the input of a command, or the output of another one.
func isInput(a word) bool {
	return slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, a.text) ||
		a.unclear != "" && strings.HasPrefix(a.text, "<(")
}

// wrappers holds programs that run their arguments as a command, in the form of table: the options
// in front of the command, how many arguments stand before it, and why it is not all that the
// program does.
//
//go:embed tables/wrappers.txt
var wrappers string

// wrapperOf returns the row of a wrapper.
func wrapperOf(name string) (spec, bool) {
	switch name {
	case "setsid", "ionice", "watch", "strace", "ltrace", "busybox", "toybox", "unshare", "nsenter", "runuser",
		"fakeroot", "unbuffer", "caffeinate", "systemd-run", "setpriv", "prlimit", "setarch":
		return row(wrappers, "nohup")
	}
	return row(wrappers, name)
}

// use returns the command that a wrapper runs. If an option is not known, there may be several.
func (k spec) use(name string, words []word) use {
	u := use{child: name != "command" && name != "builtin"}
	if k.why != "" {
		u.why = name + " " + k.why
	}
	i, ok := k.skip(words)
	if !ok {
		if name == "command" && isLiteral(words[i]) { // -v and -V only say what a name stands for
			return use{}
		}
		if u.why == "" {
			u.why = "the options of " + name + " are not known here"
		}
		for j := i; j < len(words) && len(u.inner) < 3; j++ {
			duration := k.before > 0 && isQuoted(words[j]) // or another argument in front of the command
			if !isOption(words[j]) && !duration {
				u.inner = append(u.inner, command(name, words, j))
			}
		}
		return u
	}
	for range k.before {
		if i < len(words) && (words[i].unclear != "" || words[i].glob) && u.why == "" {
			u.why = "the arguments of " + name + " are not literal"
		}
		i++
	}
	for slices.Contains([]string{"env", "sudo", "doas"}, name) && i < len(words) && assigns(words[i]) {
		i++
	}
	if i < len(words) {
		u.inner = [][]word{command(name, words, i)}
	}
	if len(u.inner) == 0 && (name == "env" || k.why == "") { // env alone prints the variables
		return use{}
	}
	return u
}

// skip returns the index of the first word after the options. It reports false if an option is not
// known.
func (k spec) skip(words []word) (i int, ok bool) {
	args := texts(words)
	for i = 1; i < len(args); i++ {
		a := args[i]
		switch {
		case assigns(words[i]):
			return i, true
		case !isLiteral(words[i]):
			return i, false
		case a == "--":
			return i + 1, true
		case len(a) < 2 || a[0] != '-':
			return i, true
		}
		used, ok := k.option(a, args[i+1:], &arguments{})
		if !ok || used > 0 && !isLiteral(words[i+1]) && !isQuoted(words[i+1]) {
			return i, false
		}
		i += used
	}
	return i, true
}

// isLiteral reports whether a word stands for exactly one that is known.
func isLiteral(a word) bool { return a.unclear == "" && !a.glob && !a.number && !a.found }

// isQuoted reports whether a word that is not literal is certainly one, because it is in double
// quotes. "$@" is many.
func isQuoted(a word) bool { return a.unclear != "" && inQuotes(a.text) }

func inQuotes(text string) bool {
	return len(text) > 1 && text[0] == '"' && strings.Index(text[1:], `"`) == len(text)-2 &&
		!strings.Contains(text, "@")
}

// isOption reports whether a word is certainly an option. A value in it may be in quotes.
func isOption(a word) bool {
	at := strings.IndexByte(a.text, '"')
	return strings.HasPrefix(a.text, "-") && (isLiteral(a) ||
		at > 0 && inQuotes(a.text[at:]) && !strings.ContainsAny(a.text[:at], "$`"))
}

// assigns reports whether a word is certainly one that sets a variable.
func assigns(a word) bool {
	name, value, ok := strings.Cut(a.text, "=")
	return ok && (isLiteral(a) && name != "" && name[0] != '-' || syntax.ValidName(name) && inQuotes(value))
}
