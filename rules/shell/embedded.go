package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// embed adds the scripts and commands in the arguments of a program that hands them to a shell
// beside what it does itself.
func (u *use) embed(words []word) {
	if !isLiteral(words[0]) {
		return
	}
	args := words[1:]
	switch path.Base(words[0].text) {
	case "git":
		u.git(args)
	case "npm", "pnpm", "npx", "yarn":
		u.option(args, "c", "--call")
	case "flock":
		u.option(args, "c", "--command")
	case "env":
		u.option(args, "S", "--split-string")
	case "su", "runuser", "script":
		u.option(args, "c", "--command", "--session-command")
	case "watch":
		u.joined(behindOptions(args))
	case "eval": // some shells take everything else for the script
		u.joined(behindDashes(args))
	case "parallel":
		u.parallel()
	case "trap":
		if args = behindDashes(args); len(args) > 0 {
			u.script(args[0], args[0].text)
		}
	case "alias":
		for _, a := range args {
			if _, value, ok := strings.Cut(a.text, "="); ok || !isLiteral(a) {
				u.script(a, value)
			}
		}
	case "hash": // -p makes a name stand for a file
		if i := slices.IndexFunc(args, func(a word) bool { return a.text == "-p" }); i >= 0 && i+1 < len(args) {
			u.inner = append(u.inner, args[i+1:i+2])
		}
	}
}

// git adds what a git command runs.
func (u *use) git(args []word) {
	_, rest := gitGlobals(texts(args))
	for len(args) > len(rest) {
		option := args[0].text
		args = args[1:]
		if option != "-c" && option != "--config-env" || len(args) <= len(rest) {
			continue
		}
		_, value, _ := strings.Cut(args[0].text, "=")
		if strings.HasPrefix(value, "!") && isAlias(args[0].text) {
			u.script(args[0], value[1:])
		} else if args[0].unclear != "" {
			u.hidden = true
		}
	}
	if len(args) == 0 {
		return
	}
	sub, args := args[0].text, args[1:]
	switch {
	case sub == "rebase":
		u.option(args, "x", "--exec")
	case sub == "bisect" && len(args) > 1 && args[0].text == "run":
		u.beside = append(u.beside, spell(args[1:]))
	case sub == "submodule":
		at := slices.IndexFunc(args, func(w word) bool { return w.text == "foreach" })
		if at >= 0 {
			u.joined(behindOptions(args[at+1:]))
		}
	case sub == "difftool", sub == "mergetool":
		u.option(args, "x", "--extcmd")
	case sub == "filter-branch":
		u.option(args, "", "--setup", "--env-filter", "--tree-filter", "--index-filter", "--parent-filter",
			"--msg-filter", "--commit-filter", "--tag-name-filter")
	}
}

func isAlias(setting string) bool {
	return len(setting) > 6 && strings.EqualFold(setting[:6], "alias.")
}

// option adds the scripts that are values of an option, by its short name and its long ones.
func (u *use) option(args []word, short string, long ...string) {
	for _, v := range optionsOf(texts(args), short, long...) {
		u.script(args[v.at], v.text)
	}
}

// behindOptions returns the arguments behind the options in front.
func behindOptions(args []word) []word {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	return args
}

// behindDashes returns the arguments without the two dashes that may stand in front.
func behindDashes(args []word) []word {
	if len(args) > 0 && args[0].text == "--" {
		return args[1:]
	}
	return args
}

// joined adds arguments as one script. If some are not literal, the others are still read to deny
// them.
func (u *use) joined(args []word) {
	u.hidden = u.hidden || !all(args, isLiteral)
	if known := literals(args); len(known) > 0 {
		u.beside = append(u.beside, strings.Join(known, " "))
	}
}

// script adds a script that stands in a word.
func (u *use) script(in word, text string) {
	if !isLiteral(in) {
		u.hidden = true
		return
	}
	u.beside = append(u.beside, text)
}

// given returns the words of a command that another program runs. What that program finds or reads
// stands in place of a text or, if place is empty, behind the words.
func given(words []word, place string) []word {
	words = slices.Clone(words)
	if place == "" {
		return append(words, word{text: "...", found: true, added: true})
	}
	for i, a := range words {
		words[i].found = a.found || a.text == place || i == 0 && strings.Contains(a.text, place)
	}
	return words
}

// command returns the command that begins at an index of a wrapper's words.
func command(name string, words []word, i int) []word {
	switch name {
	case "xargs":
		return given(words[i:], replaced(words[1:i]))
	case "parallel":
		return given(words[i:], "{}")
	}
	return words[i:]
}

// replaced returns the text that options of xargs have it replace, or "".
func replaced(options []word) string {
	for i, a := range options {
		name, value, long := strings.Cut(a.text, "=")
		if name == "--replace" {
			return cmp.Or(value, "{}")
		}
		at := strings.IndexAny(a.text, "IJi")
		switch {
		case long && strings.HasPrefix(name, "--"), at < 1 || a.text[0] != '-' || a.text[1] == '-':
		case at+1 < len(a.text):
			return a.text[at+1:]
		case a.text[at] == 'i':
			return "{}"
		case i+1 < len(options):
			return options[i+1].text
		}
	}
	return ""
}

// finds returns the commands that find or fd runs: those behind some options, each up to a ; or,
// for find, a +. Without a place for what it finds, fd puts that behind the words.
func finds(name string, words []word, options ...string) (u use) {
	for i := 1; i < len(words); i++ {
		if !slices.Contains(options, words[i].text) {
			continue
		}
		u.why, u.child = name+" runs a program", true
		end := i + 1
		for end < len(words) && words[end].text != ";" && (name != "find" || words[end].text != "+") {
			end++
		}
		if end < len(words) && words[end].text == "+" && words[end-1].text != "{}" {
			u.hidden = true // only busybox ends the command here
		}
		if command := words[i+1 : end]; len(command) > 0 {
			place := "{}"
			if !slices.ContainsFunc(command, func(a word) bool { return strings.Contains(a.text, place) }) {
				place = ""
			}
			u.inner = append(u.inner, given(command, place))
		}
		i = end
	}
	return u
}

// parallel adds the scripts that parallel makes of its words: of the command in front of :::, or
// else of each argument behind it. Without any it reads them.
func (u *use) parallel() {
	u.reads = len(u.inner) == 0
	for _, words := range u.inner {
		switch at := slices.IndexFunc(words, func(a word) bool { return strings.HasPrefix(a.text, ":::") }); {
		case at == 0:
			for _, a := range words[1:] {
				u.script(a, a.text)
			}
			continue
		case at > 0:
			words = words[:at]
		}
		literal := !slices.ContainsFunc(words, func(a word) bool { return a.unclear != "" })
		if u.hidden = u.hidden || !literal || words[0].found; literal {
			u.beside = append(u.beside, spell(words))
		}
	}
}
