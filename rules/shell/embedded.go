package shell

import (
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
		u.joined(args)
	case "parallel":
		u.parallel()
	case "trap":
		if len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		if len(args) > 0 {
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
			u.joined(args[at+1:])
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

// joined adds the arguments behind the options as one script.
func (u *use) joined(args []word) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	all := word{}
	if i := slices.IndexFunc(args, func(a word) bool { return !isLiteral(a) }); i >= 0 {
		all = args[i]
	}
	u.script(all, spell(args))
}

// script adds a script that stands in a word.
func (u *use) script(in word, text string) {
	if !isLiteral(in) {
		u.hidden = true
		return
	}
	u.beside = append(u.beside, text)
}
