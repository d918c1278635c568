package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// The prompt names the changes that were there before the session, but not all of very many.
func TestR5_ChangedBeforeTheSession(t *testing.T) {
	for _, c := range []struct {
		modified, untracked, listed int
		more                        string
	}{
		{0, 0, 0, ""}, {3, 2, 5, ""}, {0, 20, 20, ""}, {2, 19, 20, "- and 1 more\n"}, {25, 30, 20, "- and 35 more\n"},
	} {
		t.Run(fmt.Sprintf("%d and %d", c.modified, c.untracked), func(t *testing.T) {
			w := newTree(t)
			w.git("init", "-q", "-b", "main")
			for i := range c.modified {
				w.put(fmt.Sprintf("old/%02d", i), "before")
			}
			w.git("add", ".")
			w.git("commit", "-q", "--allow-empty", "-m", "one")
			for i := range c.modified {
				w.put(fmt.Sprintf("old/%02d", i), "after it")
			}
			for i := range c.untracked {
				w.put(fmt.Sprintf("new/%02d", i), "new")
			}
			text := w.prompt(prof(), "", env.LocalOptions{}, "")
			inOrder(t, text, fmt.Sprintf("Git status: %d modified, %d untracked\n", c.modified, c.untracked), c.more+"Last commits:\n")
			modified, untracked := strings.Count(text, "\n- old/"), strings.Count(text, " (untracked)\n")
			if want := min(c.modified, 20); modified != want || modified+untracked != c.listed {
				t.Errorf("%d modified and %d untracked are listed, want %d and %d in all:\n%s", modified, untracked, want, c.listed, text)
			}
			if strings.Contains(text, "Changed before") != (c.listed > 0) || strings.Contains(text, "more\n") != (c.more != "") {
				t.Errorf("a heading or a rest too many or too few:\n%s", text)
			}
		})
	}
}
