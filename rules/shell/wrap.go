package shell

import (
	"path"
	"slices"
	"strings"
)

// use says what a command runs besides its program.
type use struct {
	why     string   // why it is not certain; empty means that it is
	inner   [][]word // the commands that it runs, or that it may run if it is not certain
	scripts []string // the scripts that it runs
	beside  []string // scripts that it runs beside what it does itself
	hidden  bool     // it runs a script that is not literal
	child   bool     // it runs them in a process of its own
	moves   bool     // it may change the directory of the script
}

// wraps reports whether the command does nothing but run others.
func (u *use) wraps() bool { return len(u.inner)+len(u.scripts) > 0 }

// usage returns what a command runs besides its program.
func usage(words []word) use {
	program := words[0]
	if program.unclear != "" || program.glob || program.number || program.text == "" {
		return use{moves: true}
	}
	name := path.Base(program.text)
	switch name {
	case "pushd", "popd":
		return use{moves: true}
	case "eval":
		hidden := slices.ContainsFunc(words[1:], func(a word) bool { return !isLiteral(a) })
		return use{why: "eval runs its arguments as a script", scripts: literals(words[1:], true), hidden: hidden,
			moves: true}
	case "trap":
		return use{why: "trap runs a script later", scripts: literals(words[1:min(2, len(words))], false)}
	case ".", "source":
		return use{why: name + " runs a file as a script", moves: true}
	case "alias", "unalias", "enable", "hash", "shopt", "bind", "complete", "set":
		if name == "set" && harmlessSet(words[1:]) {
			return use{}
		}
		return use{why: name + " may change what later commands do"}
	case "export", "declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "getopts", "unset": // behind command or quotes
		return use{why: name + " may set variables"}
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh":
		return shells(name, words)
	case "find":
		return finds(words)
	case "fd", "fdfind":
		for i, a := range words {
			if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, a.text) {
				return use{why: "fd runs a program", inner: rest(words, i+1), child: true}
			}
		}
	}
	if w, ok := wrapperOf(name); ok {
		return w.use(name, words)
	}
	return use{}
}

// rest returns the words from an index on as a command.
func rest(words []word, i int) [][]word {
	if i >= len(words) {
		return nil
	}
	return [][]word{words[i:]}
}

// literals returns the words that are literal, for scripts that are only read to deny them.
func literals(words []word, join bool) []string {
	var texts []string
	for _, a := range words {
		if a.unclear == "" {
			texts = append(texts, a.text)
		}
	}
	if join && len(texts) > 0 {
		return []string{strings.Join(texts, " ")}
	}
	return texts
}

// finds returns the commands that find runs.
func finds(words []word) (u use) {
	for i := 1; i < len(words); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, words[i].text) {
			continue
		}
		u.why, u.child = "find runs a program", true
		end := i + 1
		for end < len(words) && words[end].text != ";" && words[end].text != "+" {
			end++
		}
		if end > i+1 {
			u.inner = append(u.inner, words[i+1:end])
		}
		i = end
	}
	return u
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
		if strings.HasSuffix(option, "o") && i+1 < len(words) && harmlessSet(words[i:i+2]) {
			i++
		} else if option != "--login" && option != "--norc" && option != "--noprofile" &&
			strings.Trim(option[1:], "celux") != "" {
			if !has && !slices.ContainsFunc(words[i:], func(a word) bool {
				return strings.HasPrefix(a.text, "-") &&
					strings.Contains(a.text, "c")
			}) {
				return use{}
			}
			return use{why: "the option " + option + " of " + name + " is not known here",
				scripts: literals(words[i+1:], false), child: true}
		}
	}
	if i < len(words) && words[i].text == "--" {
		i++
	}
	u := use{child: true}
	switch {
	case !has:
		return use{}
	case i == len(words) || words[i].unclear != "" || words[i].glob || words[i].number:
		u.why, u.hidden = "it is not literal which script "+name+" runs", i < len(words)
		return u
	case name == "ksh" || name == "mksh" || name == "zsh" && (strings.Trim(words[i].text, sameToZsh) != "" ||
		strings.Contains(words[i].text, "&|")):
		u.why = "the script may mean something else to " + name
	}
	u.scripts = []string{words[i].text}
	return u
}

// wrapper describes a program that runs its arguments as a command.
type wrapper struct {
	spec          // of the options in front of the command
	before int    // arguments in front of the command
	why    string // why the command is not all that it does; empty if it is
}

// wrapperOf returns the description of a wrapper.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "builtin":
		return wrapper{}, true
	case "command":
		return wrapper{spec: spec{short: "p"}}, true
	case "time":
		return wrapper{spec: spec{short: "p"}}, true
	case "nice":
		return wrapper{spec: spec{short: "0123456789n:", long: "adjustment="}}, true
	case "timeout":
		long := "kill-after= signal= foreground preserve-status verbose"
		return wrapper{spec: spec{short: "vk:s:", long: long}, before: 1}, true
	case "stdbuf":
		return wrapper{spec: spec{short: "i:o:e:", long: "input= output= error="}}, true
	case "chroot", "flock", "taskset", "chrt":
		return wrapper{before: 1, why: name + " runs another program"}, true
	case "env":
		return wrapper{spec: spec{short: "i0vu:C:S:", long: "ignore-environment unset= chdir="},
			why: "env changes the variables of another program"}, true
	case "sudo", "doas":
		return wrapper{spec: spec{short: "AbEHinPSsKkVvBNu:g:p:C:h:r:t:T:U:R:D:"},
			why: name + " runs a program as another user"}, true
	case "xargs":
		return wrapper{spec: spec{short: "0rtxpoa:d:E:e:I:i:L:l:n:P:s:",
			long: "null no-run-if-empty max-args= max-procs="},
			why: "xargs adds arguments that are not known"}, true
	case "exec":
		return wrapper{spec: spec{short: "cla:"}, why: "exec replaces the shell, or changes its files"}, true
	case "nohup", "setsid", "ionice", "watch", "parallel", "strace", "ltrace", "busybox", "toybox", "unshare",
		"nsenter", "runuser", "fakeroot",
		"unbuffer", "caffeinate", "systemd-run", "setpriv", "prlimit", "setarch":
		return wrapper{spec: spec{short: "fwcn:p:u:"}, why: name + " runs another program"}, true
	}
	return wrapper{}, false
}

// use returns the command that a wrapper runs. If an option is not known, there may be several.
func (k wrapper) use(name string, words []word) use {
	u := use{why: k.why, child: name != "command" && name != "builtin"}
	i, ok := k.skip(words)
	if !ok {
		if name == "command" { // -v and -V only say what a name stands for
			return use{}
		}
		if u.why == "" {
			u.why = "the options of " + name + " are not known here"
		}
		for j := i; j < len(words) && len(u.inner) < 3; j++ {
			if a := words[j].text; !strings.HasPrefix(a, "-") {
				u.inner = append(u.inner, words[j:])
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
	for name == "env" && i < len(words) && strings.Contains(words[i].text, "=") {
		i++
	}
	u.inner = rest(words, i)
	if len(u.inner) == 0 && (name == "env" || k.why == "") { // env alone prints the variables
		return use{}
	}
	return u
}

// skip returns the index of the first word after the options. It reports false if an option is not
// known.
func (k wrapper) skip(words []word) (i int, ok bool) {
	args := texts(words)
	for i = 1; i < len(args); i++ {
		a := args[i]
		switch {
		case !isLiteral(words[i]):
			return i, false
		case a == "--":
			return i + 1, true
		case len(a) < 2 || a[0] != '-':
			return i, true
		}
		used, ok := k.option(a, args[i+1:], &arguments{})
		if !ok || used > 0 && !isLiteral(words[i+1]) {
			return i, false
		}
		i += used
	}
	return i, true
}

// isLiteral reports whether a word stands for exactly one that is known.
func isLiteral(a word) bool { return a.unclear == "" && !a.glob && !a.number }
