package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// Commands in a sandbox read and run the files of the user's skills, also of a linked one, and
// change none. They see nothing else of the home directory.
func TestM6_SkillsInASandbox(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	for _, level := range []sandbox.Level{sandbox.ReadOnly, sandbox.Workspace} {
		t.Run(string(level), func(t *testing.T) {
			s := newSkillful(t)
			skill := filepath.Join(s.home, ".claude/skills/review")
			put(t, s.home, ".claude/skills/review/SKILL.md", reviewSkill)
			put(t, s.home, ".claude/skills/review/run.sh", "echo the script runs\n")
			put(t, s.home, "elsewhere/linked/SKILL.md", "---\ndescription: x\n---\nText")
			put(t, s.home, "elsewhere/linked/data", "LINKED DATA")
			s.linkIn(s.home, "../../elsewhere/linked", ".claude/skills/linked")
			put(t, s.home, "secret", "TOP SECRET")
			script := "sh " + skill + "/run.sh; cat " + s.home + "/elsewhere/linked/data; echo; cat " + s.home +
				"/secret; echo x > " + skill + "/run.sh; rm " + skill + "/SKILL.md; touch " +
				skill + "/new; echo the end"
			s.serve(fakellm.Script(calls(t, "shell", object{"command": script}),
				calls(t, "write_file", object{"file_path": skill + "/new", "content": "x"}),
				calls(t, "read_file", object{"file_path": s.home + "/elsewhere/linked/data"}),
				fakellm.Turn{Text: "done"}))
			c := s.config("anthropic", false)
			c.Mode, c.Ask, c.Sandbox = permit.ModeFull, nil, sandbox.Options{Level: level, Cache: t.TempDir()}
			s.submit(c, "the task", s.listen)
			results := s.lastResults()
			if !strings.Contains(results, "the script runs") || strings.Count(results, "LINKED DATA") != 2 ||
				strings.Contains(results, "TOP SECRET") || !strings.Contains(results, "the end") {
				t.Errorf("the results:\n%s", results)
			}
			if entries, err := os.ReadDir(skill); err != nil || len(entries) != 2 {
				t.Errorf("in the skill's directory: %v, %v", entries, err)
			}
			if data, err := os.ReadFile(skill + "/run.sh"); err != nil || string(data) != "echo the script runs\n" {
				t.Errorf("the script is now %q, %v", data, err)
			}
		})
	}
}
