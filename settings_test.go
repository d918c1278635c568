package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// A session that works in the home directory does not choose what later sessions may do, even if
// nothing is asked.
func TestN8_ConfigIsNotChanged(t *testing.T) {
	b := newBench(t, writeTurn(".config/attractor/config.json", "{}"), writeTurn(".config/attractor/hooks.json", "{}"),
		fakellm.Turn{Text: "done"})
	for mode, want := range map[permit.Mode]map[string]bool{
		permit.ModeFull:        {"config.json": false, "hooks.json": true},
		permit.ModeAcceptEdits: {"config.json": false, "hooks.json": false},
	} {
		home := t.TempDir()
		c := b.config()
		getenv := c.Getenv
		c.Dir, c.Mode, c.Getenv = home, mode, func(name string) string {
			if name == "HOME" {
				return home
			}
			return getenv(name)
		}
		b.submit(c, "the task")
		for name, made := range want {
			if _, err := os.Stat(filepath.Join(home, ".config/attractor", name)); (err == nil) != made {
				t.Errorf("mode %s: %s: %v", mode, name, err)
			}
		}
		if !strings.Contains(b.lastRequest(), "config.json") {
			t.Errorf("the last request is %s", b.lastRequest())
		}
	}
}
