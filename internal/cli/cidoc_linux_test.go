package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestQ4_CIScript runs the script of docs/ci.md that repairs, with a shorter check: it ends with 0
// and leaves a patch that applies if the agent has mended what fails, with 1 if the agent only says
// so, and with the code of attractor if no session began.
func TestQ4_CIScript(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	peer.Need(t, "jq")
	script := scriptOfPage(t, "<!-- a test runs this script -->\n```sh\n")
	if strings.Count(script, `"go test ./..."`) != 1 {
		t.Fatalf("the page has no such script:\n%s", script)
	}
	script = strings.Replace(script, "go test ./...", "sh sum_test.sh", 1)
	edit := say("The operator is wrong.", use("edit_file", object{"file_path": "sum.sh", "old_string": "-",
		"new_string": "+"}))
	for _, tt := range []struct {
		name  string
		turns []fakellm.Turn
		env   []string
		code  int
		patch string
	}{
		{"mended", []fakellm.Turn{edit, say("Mended.")}, nil, 0, "+echo $(($1 + $2))"},
		{"only said", []fakellm.Turn{say("Mended."), say("Mended."), say("Mended."), say("Mended.")}, nil, 1, ""},
		{"no key", nil, []string{"ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL="}, 4, ""},
		{"no such sandbox", nil, []string{"SANDBOX=x"}, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := serve(t, nil, tt.turns...)
			h := newHome(t, url)
			h.file("sum.sh", "echo $(($1 - $2))\n")
			h.file("sum_test.sh", "test $(sh sum.sh 1 2) = 3\n")
			h.git("init", "-q")
			h.git("add", ".")
			h.git("commit", "-q", "-m", "a sum")
			out := t.TempDir()
			cmd := pageCommand(t, h, out, script)
			cmd.Env = append(cmd.Env, tt.env...)
			if got := runCommand(t, cmd); got.code != tt.code {
				t.Fatalf("exit code %d, want %d\n%s\n%s", got.code, tt.code, got.stdout, got.stderr)
			}
			patch, err := os.ReadFile(filepath.Join(out, "agent.patch"))
			if err != nil || !strings.Contains(string(patch), tt.patch) || (tt.patch == "") != (len(patch) == 0) {
				t.Errorf("the patch, %v:\n%s", err, patch)
			}
			if tt.patch != "" {
				h.git("checkout", "-q", ".")
				h.git("apply", filepath.Join(out, "agent.patch"))
			}
			if tt.turns == nil { // no session began
				return
			}
			if page, err := os.ReadFile(filepath.Join(out, "session.html")); err != nil || len(page) == 0 {
				t.Errorf("the page of the session has %d bytes, %v", len(page), err)
			}
		})
	}
}

// TestQ4_CIScriptRunsNothingOfTheAgents runs the same script with an agent that makes and commits a
// repository which names programs.
func TestQ4_CIScriptRunsNothingOfTheAgents(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	peer.Need(t, "jq")
	script := strings.Replace(scriptOfPage(t, "<!-- a test runs this script -->\n```sh\n"), "go test ./...", "true", 1)
	canary := filepath.Join(t.TempDir(), "canary")
	url, _ := serve(t, nil, say("A repository.", use("shell", object{"command": nestedRepository(canary)})),
		say("Done."))
	h := newHome(t, url)
	h.file("sum.sh", "echo 1\n")
	h.git("init", "-q")
	h.git("add", ".")
	h.git("commit", "-q", "-m", "a sum")
	h.withSubmodules()
	out := t.TempDir()
	if got := runCommand(t, pageCommand(t, h, out, script)); got.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if patch, err := os.ReadFile(filepath.Join(out, "agent.patch")); err != nil ||
		!strings.Contains(string(patch), "+Subproject commit ") {
		t.Errorf("the patch, %v:\n%s", err, patch)
	}
	if _, err := os.Stat(canary); !os.IsNotExist(err) {
		t.Errorf("the agent's program has run: %v", err)
	}
}

// TestQ4_CIReview runs the script of docs/ci.md that reviews: the model gets the change on standard
// input, and its answer is the file.
func TestQ4_CIReview(t *testing.T) {
	t.Parallel()
	script := scriptOfPage(t, "<!-- a test runs this script, too -->\n```sh\n")
	url, server := serve(t, nil, say("I run it.", use("shell", object{"command": "touch x"})),
		say("Line 1 adds nothing."))
	h := newHome(t, url)
	h.file("sum.sh", "echo 1\n")
	h.git("init", "-q", "-b", "main")
	h.git("add", ".")
	h.git("commit", "-q", "-m", "a sum")
	h.git("switch", "-q", "-c", "change")
	h.file("sum.sh", "echo 2\n")
	h.git("commit", "-q", "-a", "-m", "another")
	out := t.TempDir()
	cmd := pageCommand(t, h, out, script)
	cmd.Args = append(cmd.Args, "review.sh", "main")
	if got := runCommand(t, cmd); got.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if review, err := os.ReadFile(filepath.Join(out, "review.md")); err != nil ||
		string(review) != "Line 1 adds nothing.\n" {
		t.Errorf("the review is %q, %v", review, err)
	}
	if prompt := string(server.Requests()[0].Body); !strings.Contains(prompt, "+echo 2") {
		t.Errorf("the model did not get the change: %s", prompt)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "x")); err == nil {
		t.Error("the command ran")
	}
}

// scriptOfPage returns the code that follows the mark in docs/ci.md.
func scriptOfPage(t *testing.T, mark string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, found := strings.Cut(string(page), mark)
	script, _, ended := strings.Cut(script, "```")
	if !found || !ended {
		t.Fatalf("docs/ci.md has no script after %q", mark)
	}
	return script
}

// pageCommand returns a command that runs a script as a CI runner does: it finds attractor in PATH
// and leaves its files in out.
func pageCommand(t *testing.T, h *home, out, script string) *exec.Cmd {
	t.Helper()
	cmd := h.command() // for its environment
	bin := t.TempDir()
	if err := peer.WriteProgram(filepath.Join(bin, "attractor"),
		[]byte("#!/bin/sh\nexec '"+cmd.Path+"' \"$@\"\n")); err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = peer.Need(t, "sh"), []string{"sh", "-c", script}
	cmd.Env = append(cmd.Env, "RUNNER_TEMP="+out, "CI=true", "PATH="+bin+":"+os.Getenv("PATH"))
	return cmd
}
