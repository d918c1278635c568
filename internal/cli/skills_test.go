//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// putSkill writes a SKILL.md.
func putSkill(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The commands show the skills that a session would have, and run uses one by its name.
func TestM6_TheCommandHasSkills(t *testing.T) {
	url, server := serve(t, nil, fakellm.Turn{Text: "deployed"}, fakellm.Turn{Text: "text"},
		fakellm.Turn{Text: "the project's"})
	h := newHome(t, url)
	putSkill(t, filepath.Join(h.home, ".claude/skills/deploy"),
		"---\nname: deploy\ndescription: Deploys: everything\nusr: x\n---\nDeploy to $1.\n")
	putSkill(t, filepath.Join(h.dir, ".agents/skills/build"), "---\nname: build\ndescription: Builds\n---\nBuild it.\n")
	const mistake = "attractor: warning: HOME/.claude/skills/deploy/SKILL.md, line 4: unknown fields have no " +
		"effect: usr; "
	const untrusted = "attractor: warning: These parts of the project are not used, because the project is not " +
		"trusted: skills: build. "
	prompt := h.run(0, "prompt", "--profile", "gemini", "--native")
	told := strings.ReplaceAll(prompt.stderr, h.home, "HOME")
	if !strings.Contains(prompt.stdout, "  - `deploy`: Deploys: everything\n") || strings.Contains(prompt.stdout,
		"`build`") || !strings.Contains(told, mistake) || !strings.Contains(told, untrusted) {
		t.Errorf("prompt: %s\n%s", prompt.stdout, prompt.stderr)
	}
	if out := h.run(0, "tools"); !strings.Contains(out.stdout, "\nskill\n    Loads a skill") {
		t.Errorf("tools: %s", out.stdout)
	}
	if out := h.run(0, "tools", "--dir", t.TempDir()); !strings.Contains(out.stdout, "\nskill\n") ||
		strings.Contains(out.stderr, "build") {
		t.Errorf("tools elsewhere: %s%s", out.stdout, out.stderr)
	}
	if out := h.run(0, "tool", "skill", `{"name":"deploy"}`); !strings.Contains(out.stdout, "\n\nDeploy to $1.\n") {
		t.Errorf("tool: %s", out.stdout)
	}
	if out := h.run(0, "run", "--yes", "/deploy", "staging"); out.stdout != "deployed\n" ||
		!strings.Contains(out.stderr, "deploy/SKILL.md, line 4") || !strings.Contains(out.stderr, "skills: build") {
		t.Errorf("run: %+v", out)
	}
	h.run(0, "run", "--yes", "/build now")
	h.run(0, "run", "--yes", "--trust-project", "/build now")
	var texts []string
	for _, r := range server.Requests() {
		texts = append(texts, r.Messages[0].Parts.Text())
	}
	if len(texts) != 3 || !strings.HasPrefix(texts[0],
		"/deploy staging\n\nThese are the instructions of the skill deploy.\n") ||
		!strings.Contains(texts[0], "\n\nDeploy to staging.\n") ||
		texts[1] != "/build now" || !strings.Contains(texts[2], "\n\nBuild it.\n\n\nARGUMENTS: now") {
		t.Errorf("the tasks: %q", texts)
	}
}
