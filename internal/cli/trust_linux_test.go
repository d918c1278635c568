package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/trust"
)

// onTerminal runs the command on a terminal.
func (h *home) onTerminal(code int, typed string, args ...string) string {
	h.Helper()
	cmd := attractorCommand(h.T, args...)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+h.url)
	p := startOnTerminal(h.T, cmd)
	for line := range strings.Lines(typed) {
		if p.next(trustLabel) != "" {
			p.write(line)
		}
	}
	screen, got := p.wait()
	if got != code {
		h.Fatalf("%v: exit code %d, want %d\n%s", args, got, code, screen)
	}
	checkHarmless(h.T, strings.Join(args, " "), screen)
	return screen
}

// put writes a file of the project.
func (h *home) put(name, content string) {
	h.Helper()
	name = filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := peer.WriteProgram(name, []byte(content)); err != nil {
		h.Fatal(err)
	}
}

// decisions returns the list that trust --list --json prints.
func (h *home) decisions() (list []trust.Entry) {
	h.Helper()
	if err := json.Unmarshal([]byte(h.run(0, "trust", "--list", "--json").stdout), &list); err != nil {
		h.Fatal(err)
	}
	return list
}

// A person sees what a project starts and allows, decides, and is asked again with the difference
// when it changes. A run warns until then.
func TestL10_TrustOnATerminal(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"},
		fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	warned := func(want string, args ...string) {
		t.Helper()
		out := h.run(0, append([]string{"run", "--yes", "x"}, args...)...)
		if strings.Contains(out.stderr, "attractor trust") != (want != "") || !strings.Contains(out.stderr, want) ||
			strings.Count(out.stderr, "warning") > 1 {
			t.Errorf("run %q says %q, want %q", args, out.stderr, want)
		}
	}
	if out := h.run(0, "trust"); !strings.Contains(out.stdout, "has no files that start or allow something") {
		t.Errorf("%q", out.stdout)
	}
	h.put(".claude/settings.json",
		`{"permissions":{"allow":["Bash(\u001b[31mgo test:*)"]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./check.sh"}]}]}}`)
	h.put("check.sh", "echo one\n")
	warned("the project is not trusted: hooks: Stop; rules: ")
	warned("", "--trust-project")
	if list := h.decisions(); len(list) != 0 {
		t.Errorf("--trust-project has kept %+v", list)
	}
	if out := h.run(exitUsage, "trust"); !strings.Contains(out.stderr, "no terminal to ask on") ||
		!strings.Contains(out.stderr, "--trust-project") {
		t.Errorf("%q", out.stderr)
	}
	screen := h.onTerminal(exitFailed, "\nperhaps\n\x04", "trust")
	for _, want := range []string{".claude/settings.json (settings, ", `allows: Bash(\u{1b}[31mgo test:*)`,
		"hook: ./check.sh", "check.sh (script, 9 bytes, executable)", "nothing was decided"} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
	if screen := h.onTerminal(0, "yes\n", "trust", h.dir); !strings.Contains(screen, "The project is trusted.") {
		t.Errorf("%s", screen)
	}
	warned("")
	if out := h.run(0, "trust"); !strings.Contains(out.stdout, "You have trusted this project since") {
		t.Errorf("%q", out.stdout)
	}
	h.put("check.sh", "echo one\necho \u202etwo\x1b[2J\n")
	warned("the project has changed since you decided about it (check.sh): hooks: Stop; rules: ")
	if screen := h.onTerminal(0, "n\n", "trust"); !strings.Contains(screen, `+echo \u{202e}two\u{1b}[2J`) ||
		!strings.Contains(screen, "  changed check.sh") || strings.Contains(screen, "changed .claude") {
		t.Errorf("%s", screen)
	}
	warned("you have declined to trust the project: hooks: Stop")
	if list := h.decisions(); len(list) != 1 || list[0].State != trust.Declined || list[0].Files != 2 {
		t.Errorf("%+v", list)
	}
	h.run(0, "trust", "--revoke")
	warned("the project is not trusted: hooks: Stop; rules: ")
	if out := h.run(exitFailed, "trust", "--revoke"); !strings.Contains(out.stderr, "no decision") ||
		!strings.Contains(out.stderr, "--list") {
		t.Errorf("%q", out.stderr)
	}
}

// A person can trust a project without anything to trust. Servers without a cwd then start there.
func TestU18_TrustOfAnEmptyProject(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	h.own(servers(t, "lab=lab"))
	if screen := h.onTerminal(0, "y\n", "trust"); !strings.Contains(screen, "The project is trusted.") {
		t.Errorf("%s", screen)
	}
	has(t, h.run(0, "trust").stdout, "has no files that start or allow something",
		"You have trusted this project since")
	where := func() string { return h.run(0, "mcp", "call", "lab", "environment", "{}").stdout }
	has(t, where(), "cwd="+h.dir+"\n")
	h.put(".claude/settings.json", `{"permissions":{"allow":["Bash(ls)"]}}`)
	has(t, where(), filepath.Join("attractor", "mcp", "cwd"))
}

// A project with a link out of it is shown, but cannot be trusted. A decision about a directory
// that is gone can be revoked.
func TestL10_TrustIsRefused(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	if err := os.Symlink("/etc", filepath.Join(h.dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	screen := h.onTerminal(exitFailed, "y\n", "trust")
	if !strings.Contains(screen, "leads out of the project, to /etc") || strings.Contains(screen, "[y]es") {
		t.Errorf("%s", screen)
	}
	if out := h.run(exitUsage, "run", "--yes", "--trust-project", "x"); !strings.Contains(out.stderr,
		"cannot be trusted: .claude") {
		t.Errorf("%q", out.stderr)
	}
	if err := os.Remove(filepath.Join(h.dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(h.dir, "gone")
	h.put("gone/.mcp.json", "{}")
	h.onTerminal(0, "y\n", "trust", gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	h.run(0, "trust", "--revoke", gone)
	if list := h.decisions(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	for _, args := range [][]string{{"trust", "a", "b"}, {"trust", "--list", "a"}, {"trust", "--json"},
		{"trust", "--list", "--revoke"}, {"trust", "/nope"}} {
		h.run(exitUsage, args...)
	}
}

// Of several lines that were pasted only the first counts, and it counts only with Enter.
func TestL10_TrustTakesNoPastedLine(t *testing.T) {
	for name, typed := range map[string]string{"lines": "maybe\ny\ny\n", "no Enter": "y\x04\x04"} {
		h := newHome(t, "")
		h.put(".claude/settings.json", `{"permissions":{"allow":["Bash(go test:*)"]}}`)
		cmd := attractorCommand(t, "trust")
		cmd.Dir = h.dir
		cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home)
		p := startOnTerminal(t, cmd)
		p.expect(trustLabel)
		p.write(typed)
		if p.next(trustLabel) != "" {
			p.write("\x04")
		}
		if screen, code := p.wait(); code != 1 || !strings.Contains(screen, "nothing was decided") {
			t.Errorf("%s: exit code %d:\n%s", name, code, screen)
		}
	}
}

// A decision about the main work tree counts in a linked one, where revoking says which one it is.
func TestO8_RevokingInALinkedWorkTree(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	h.put(".claude/settings.json", `{"permissions":{"allow":["Bash(ls)"]}}`)
	linked := filepath.Join(t.TempDir(), "linked")
	h.git("init", "-q", "-b", "main")
	h.git("config", "user.name", "A")
	h.git("config", "user.email", "a@example.com")
	h.git("add", ".")
	h.git("commit", "-qm", "one")
	h.git("worktree", "add", "-q", linked)
	h.onTerminal(0, "y\n", "trust")
	way := "attractor trust --revoke " + h.dir
	has(t, h.run(0, "trust", linked).stdout, "You have trusted this project since", way+"\n")
	has(t, h.run(exitFailed, "trust", "--revoke", linked).stderr, way+"\n")
	h.run(0, "trust", "--revoke", h.dir)
}
