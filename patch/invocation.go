package patch

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Invocation is a call of the command apply_patch, which models write for a shell although there is no such program.
type Invocation struct {
	// Patch is what the command would be given, as an argument or on its standard input.
	Patch string
	// Dir is where it would run; empty means where the shell is.
	Dir string

	expands bool // a shell would change the text first
}

// FromScript reads a shell script that is nothing but an invocation:
//
//	cd DIR && apply_patch <<'EOF'
//	*** Begin Patch
//	...
//	*** End Patch
//	EOF
//
// with or without the cd, or with the quoted patch as an argument instead. It knows a few words of shell and is strict with them,
// because to guess could do damage: anything else before, between or behind, a second command, a redirection, a variable or a
// command in what a shell would expand, and it is no invocation. It says nothing about whether the patch is one.
func FromScript(script string) (Invocation, bool) {
	inv, ok := invocation(script)
	return inv, ok && !inv.expands
}

// FromArgv reads a command line that is nothing but an invocation: apply_patch with the patch as its only argument, or a shell with
// a script for [FromScript]. The script's rules are those of a POSIX shell for any shell: what they take is no program for another.
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

// What quotes hold as it is, and the whole of an invocation. A word of a path has no character that a shell would look at twice.
const (
	quoted = "'[^']*'" + `|"[^"$` + "`" + `\\!]*"`
	word   = `[\w.,/@%+=:][\w.,/@%+=:-]*|` + quoted
)

var script = regexp.MustCompile(`(?s)^(?:cd[ \t]+(` + word + `)[ \t]*&&\s*)?(?:apply_patch|applypatch)` +
	`(?:[ \t]*<<[ \t]*(\w+|'\w+'|"\w+")[ \t]*\n(.*)|[ \t]+(` + quoted + `))$`)

func invocation(text string) (Invocation, bool) {
	m := script.FindStringSubmatch(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
	if m == nil {
		return Invocation{}, false
	}
	inv := Invocation{Dir: unquote(m[1]), Patch: unquote(m[4])}
	if m[1] != "" && (inv.Dir == "" || inv.Dir[0] == '-') { // no directory, or not one by that name
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
