package chat

import (
	"slices"
	"strings"
	"testing"
)

// Commands of other programs are answered with commands that exist here, also if another name is
// near.
func TestQ4_CommandsOfOtherPrograms(t *testing.T) {
	p, c := withSession(t)
	p.current = c
	for _, said := range []string{"rewind", "doctor", "agents", "hooks", "memory", "config", "usage"} {
		if otherCommands()[said] == "" { // docs/coming-from/claude-p.md
			t.Errorf("/%s is not answered", said)
		}
	}
	for other, here := range otherCommands() {
		if name, is := strings.CutPrefix(here, "/"); is && !slices.ContainsFunc(commands(),
			func(c command) bool { return strings.HasPrefix(name, c.name) }) {
			t.Errorf("/%s leads to %s, which does not exist", other, here)
		}
		if p.hint = ""; !p.unknown("/"+other) || !strings.Contains(p.hint, "; here it is "+here+". ") {
			t.Errorf("/%s: %q", other, p.hint)
		}
		if p.hint = ""; !p.unknown("/"+other+" ../docs") || !strings.Contains(p.hint, "; here it is "+here+". ") {
			t.Errorf("/%s with an argument: %q", other, p.hint)
		}
		if p.hint = ""; p.unknown("/"+other+" of the build is red") && strings.Contains(p.hint, "here it is") {
			t.Errorf("a text is taken for a command: %q", p.hint)
		}
	}
}
