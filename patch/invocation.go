package patch

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Invocation holds a call of the command apply_patch. Models write such calls for a shell, although
// there is no such program.
type Invocation struct {
	// Patch holds the text that the command would get as an argument or on its standard input.
	Patch string
	// Dir holds the directory that the command would run in, or "" for the shell's.
	Dir string

	expands bool // a shell would change the text first
}

// FromScript reads a shell script that consists of an invocation alone:
//
//	cd DIR && apply_patch <<'EOF'
//	*** Begin Patch
//	...
//	*** End Patch
//	EOF
//
// with or without the cd, or with the quoted patch as an argument. It rejects anything else, such
// as a second command, a redirection or text that a shell would expand, because guessing could do
// damage. It does not check the patch.
func FromScript(script string) (Invocation, bool) {
	inv, ok := invocation(script)
	return inv, ok && !inv.expands
}

// FromArgv reads a command line that consists of an invocation alone: apply_patch with the patch as
// its only argument, or a shell with a script for [FromScript]. It applies the rules of a POSIX
// shell to every shell, because a script that they accept is not a valid program for any other.
func FromArgv(argv []string) (Invocation, bool) {
	if len(argv) < 2 {
		return Invocation{}, false
	}
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(argv[0], `\`, "/"))), ".exe")
	last := len(argv) - 1
	flags := strings.ToLower(strings.Join(argv[1:last], " "))
	switch {
	case (argv[0] == "apply_patch" || argv[0] == "applypatch") && last == 1:
		return Invocation{Patch: argv[1]}, true
	case slices.Contains([]string{"sh", "bash", "zsh"}, name) && (flags == "-c" || flags == "-lc"),
		name == "cmd" && flags == "/c",
		(name == "pwsh" || name == "powershell") && (flags == "-command" || flags == "-noprofile -command"):
		return FromScript(argv[last])
	}
	return Invocation{}, false
}

const (
	quoted = "'[^']*'" + `|"[^"$` + "`" + `\\!]*"`  // text that a shell does not expand
	word   = `[\w.,/@%+=:][\w.,/@%+=:-]*|` + quoted // of a path, without characters that are special to a shell
)

var script = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:cd[ \t]+(` + word + `)[ \t]*&&\s*)?(?:apply_patch|applypatch)` +
		`(?:[ \t]*<<[ \t]*(\w+|'\w+'|"\w+")[ \t]*\n(.*)|[ \t]+(` + quoted + `))$`)
})

// invocation reads a script as [FromScript] does, and also one whose text a shell would expand.
func invocation(text string) (Invocation, bool) {
	m := script().FindStringSubmatch(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
	if m == nil {
		return Invocation{}, false
	}
	inv := Invocation{Dir: unquote(m[1]), Patch: unquote(m[4])}
	if m[1] != "" && (inv.Dir == "" || inv.Dir[0] == '-') { // cd takes these for $HOME, $OLDPWD or a flag
		return Invocation{}, false
	}
	if m[2] == "" {
		return inv, true
	}
	delimiter := unquote(m[2])
	body, rest, ended := strings.Cut("\n"+m[3]+"\n", "\n"+delimiter+"\n")
	if !ended || rest != "" {
		return Invocation{}, false
	}
	inv.Patch = strings.TrimPrefix(body+"\n", "\n")
	inv.expands = delimiter == m[2] && strings.ContainsAny(body, "$`\\")
	return inv, true
}

func unquote(word string) string {
	if word != "" && (word[0] == '\'' || word[0] == '"') {
		return word[1 : len(word)-1]
	}
	return word
}
