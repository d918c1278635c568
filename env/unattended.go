package env

import (
	"slices"
	"strings"
)

// noEditor is what git runs in place of an editor.
const noEditor = `sh -c 'echo "There is no editor here: use -m, --no-edit or GIT_EDITOR=true." >&2; exit 1'`

// unattended returns variables with those by which programs know that nobody sits at a terminal:
// git opens no editor, and neither it nor ssh asks for a password. What is set already stays, but
// for git's editors, which would wait for a person. What LocalOptions.Env and the command itself
// set counts more.
func unattended(environ []string) []string {
	environ = slices.Clone(environ)
	for _, v := range []string{"GIT_TERMINAL_PROMPT=0", "PAGER=cat", "SSH_ASKPASS=false"} {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(environ, func(set string) bool { return strings.HasPrefix(set, name+"=") }) {
			environ = append(environ, v)
		}
	}
	return append(environ, "GIT_EDITOR="+noEditor, "GIT_SEQUENCE_EDITOR="+noEditor)
}
