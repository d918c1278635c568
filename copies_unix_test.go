//go:build unix

package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// Rules about files by their absolute names, and links with the names of secrets, also count for
// the copies in the worktree of an agent, and of the session itself.
func TestU23_RulesCountInWorktrees(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := newFarm(t)
		f.write("prod/x.txt", "THE CONTENT\n", "cert.txt", "THE CONTENT\n", "dev.settings", "THE CONTENT\n",
			"ign/z", "THE CONTENT\n",
			".gitignore", "dev.settings\nign/\n.env\n", ".worktreeinclude", "dev.settings\nign/\n")
		f.git("add", ".")
		f.git("commit", "-qm", "two")
		if err := os.Symlink("dev.settings", filepath.Join(f.dir, ".env")); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Dir(f.dir), ".claude/settings.json", `{"permissions": {"deny": ["Read(/`+f.dir+
			`/prod/**)", "Read(/`+filepath.Dir(f.dir)+`/*/cert.txt)", "Read(/`+f.dir+`/ign/**)"]}}`)
		var reads []fakellm.Turn
		for _, name := range []string{"prod/x.txt", "cert.txt", "dev.settings", "ign/z"} {
			reads = append(reads, f.runs("cat "+name), f.runs("grep -r CON "+name))
		}
		reads = append(reads, f.runs("wc -l f.txt"), fakellm.Turn{Text: "done"})
		f.script("the part", reads...)
		f.script("the task", calls(t, "Agent", isolated("the part")), fakellm.Turn{Text: "done"})
		c, task := f.config(), "the task"
		if own {
			c.Worktree, task = "own", "the part"
		}
		c.Mode = permit.ModeAsk
		f.submit(c, task, f.watch)
		seen := false
		for _, r := range f.server.Requests() {
			body := string(r.Body)
			seen = seen || strings.Contains(body, "9 f.txt")
			if strings.Contains(body, "THE CONTENT") {
				t.Errorf("worktree of the session: %t; a request has the text of a file:\n%s", own, body)
				break
			}
		}
		if !seen {
			t.Errorf("worktree of the session: %t; the commands did not run: %v", own, f.results())
		}
	}
}
