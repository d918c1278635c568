package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/permit"
)

// A person on a terminal reads the plan and decides about it. Without a terminal the model cannot
// leave plan mode, and edits are accepted without anybody.
func TestN8_ModesOfRun(t *testing.T) {
	plan := use(permit.ExitPlanMode, map[string]any{"plan": "1. Make \u202ea."})
	write := use("write_file", map[string]any{"file_path": "b", "content": "x"})
	for name, c := range map[string]struct {
		typed []string
		made  string
		shown string
	}{
		"yes":          {[]string{"y\n", "n\n"}, "", "Please type"},
		"accept edits": {[]string{"x\n", "a\n"}, "b", "Please type"},
		"no":           {[]string{"n make it smaller\n"}, "", "make it smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			url, server := serve(t, nil, say("", touch("a")), say("", plan), say("", write), say("Done."))
			h := newHome(t, url)
			p := startOnTerminal(t, askingRun(t, h, "--mode", "plan", "make a"))
			for _, line := range c.typed {
				p.expect(render.AskLabel)
				p.write(line)
			}
			screen, code := p.wait()
			told := lastResults(server.Requests()[len(server.Requests())-1].Messages)
			if code != 0 || h.made() != c.made || !strings.Contains(screen+told, c.shown) && name != "yes" ||
				!strings.Contains(screen, "carry out this plan:") {
				t.Errorf("exit code %d, files %q, want %q:\n%s\n%s", code, h.made(), c.made, screen, told)
			}
			if strings.Contains(screen, "\u202e") {
				t.Errorf("the plan turns the text around: %q", screen)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		url, server := serve(t, nil, say("", touch("a")), say("", plan), say("Done."))
		h := newHome(t, url)
		h.run(0, "run", "--mode", "plan", "make a")
		told := lastResults(server.Requests()[1].Messages) + lastResults(server.Requests()[2].Messages)
		if h.made() != "" || !strings.Contains(told, "give it as your answer") ||
			strings.Contains(told, "call exit_plan_mode") || !strings.Contains(told, `unknown tool "exit_plan_mode"`) {
			t.Errorf("files %q; %s", h.made(), told)
		}
	})
	t.Run("resumed", func(t *testing.T) {
		url, server := serve(t, nil, say("A plan."), say("", touch("a")), say("Done."), say("", touch("b")),
			say("Done."))
		h := newHome(t, url)
		h.run(0, "run", "--mode", "plan", "make a")
		if out := h.run(0, "run", "--continue", "--allow-tool", "Bash", "go"); h.made() != "" ||
			!strings.Contains(out.stderr, "in plan mode; to leave it, pass another mode") {
			t.Errorf("files %q; %s", h.made(), out.stderr)
		}
		h.run(0, "run", "--continue", "--mode", "full", "go")
		if requests := server.Requests(); h.made() != "b" || !strings.Contains(string(requests[len(requests)-1].Body),
			"Plan mode is over.") {
			t.Errorf("files %q", h.made())
		}
	})
	t.Run("nobody, accept edits", func(t *testing.T) {
		url, _ := serve(t, nil, say("", touch("a"), write), say("Done."))
		h := newHome(t, url)
		h.run(0, "run", "--mode", "accept-edits", "make b")
		if h.made() != "b" {
			t.Errorf("files %q", h.made())
		}
	})
	t.Run("nobody, full", func(t *testing.T) {
		url, _ := serve(t, nil, say("", touch("a")), say("Done."))
		h := newHome(t, url)
		h.run(0, "run", "--mode", "full", "make a")
		if h.made() != "a" {
			t.Errorf("files %q", h.made())
		}
	})
}

// Images go with the first prompt, further directories and rules to the session.
func TestN8_ModesFlags(t *testing.T) {
	other := t.TempDir()
	url, server := serve(t, nil,
		say("", use("write_file", map[string]any{"file_path": other + "/made", "content": "x"}), touch("denied"),
			touch("allowed")), say("Done."), say("More."))
	h := newHome(t, url)
	png := llmtest.PNG
	if err := os.WriteFile(filepath.Join(h.dir, "a.png"), []byte(png), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "run", "--mode", "accept-edits", "--image", "a.png", "--image", "a.png", "--add-dir", other,
		"--allow-tool", "Bash(echo:*)", "--allow-tool", "Edit(allowed)",
		"--deny-tool", "Edit(denied)", "--deny-tool", "Grep", "look")
	request := server.Requests()[0]
	images := 0
	for _, part := range request.Messages[0].Parts {
		if m, is := part.(llm.Media); is && m.MIME == "image/png" && string(m.Data) == png {
			images++
		}
	}
	if images != 2 || strings.Contains(strings.Join(request.Tools, " "), "grep") {
		t.Errorf("%d images, the tools %v", images, request.Tools)
	}
	if _, err := os.Stat(other + "/made"); err != nil || h.made() != "a.png allowed" {
		t.Errorf("files %q, %v", h.made(), err)
	}
	if out := h.run(exitUsage, "run", "--read-only", "--continue", "--image", "a.png"); !strings.Contains(out.stderr,
		"--image needs a prompt") {
		t.Error(out.stderr)
	}
}
