//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// result reads the file of --result.
func (h *home) result(name string) (r runResult) {
	h.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		h.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		h.Fatalf("%s: %v", data, err)
	}
	return r
}

// The result has the patch of all that the session has changed, also by commands. It makes the same
// tree of another one.
func TestX3_ResultAndOutput(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "printf 'two\n' >a.txt && rm b.txt && " +
		"echo key-of-a-test >new.txt"})),
		fakellm.Turn{Text: "It is done."}, fakellm.Turn{Text: "Nothing more."})
	h := newHome(t, url)
	out := t.TempDir()
	output, result := filepath.Join(out, "answer"), filepath.Join(out, "result.json")
	for _, dir := range []string{h.dir, out} {
		for name, text := range map[string]string{"a.txt": "one\n", "b.txt": "b\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := h.run(0, "run", "--yes", "--output", output, "--result", result,
		"change it"); got.stdout != "It is done.\n" {
		t.Errorf("printed %q", got.stdout)
	}
	if answer, err := os.ReadFile(output); err != nil || string(answer) != "It is done.\n" {
		t.Errorf("--output has %q, %v", answer, err)
	}
	r := h.result(result)
	var paths []string
	for _, change := range r.Changes {
		paths = append(paths, change.Path)
	}
	if r.ExitCode != 0 || r.Error != "" || r.Reason != agent.ReasonCompleted || r.Answer != "It is done." ||
		r.Turns != 2 || r.Usage.Input == 0 || r.CostUSD == 0 || r.SessionID != h.sessions()[0].ID ||
		!slices.Equal(paths, []string{"a.txt", "b.txt", "new.txt"}) {
		t.Errorf("%+v", r)
	}
	if strings.Contains(r.Patch, "key-of-a-test") {
		t.Errorf("the patch shows a secret:\n%s", r.Patch)
	}
	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = out, strings.NewReader(r.Patch)
	if said, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, said)
	}
	if text, err := os.ReadFile(filepath.Join(out, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("the patch makes %q, %v", text, err)
	}
	h.run(0, "run", "--yes", "--continue", "--no-checkpoints", "--result", result, "go on")
	if r := h.result(result); r.Answer != "Nothing more." || len(r.Changes) != 3 {
		t.Errorf("of the continued session: %+v", r)
	}
}

// A run that fails leaves a result, too, and nothing of an earlier one.
func TestX3_ResultOfAFailure(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}})
	h := newHome(t, url)
	output, result := filepath.Join(t.TempDir(), "answer"), filepath.Join(t.TempDir(), "result.json")
	for _, name := range []string{output, result} {
		if err := os.WriteFile(name, []byte(`{"answer":"of an earlier run"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.run(exitAccess, "run", "--yes", "--output", output, "--result", result, "x")
	r := h.result(result)
	if r.ExitCode != exitAccess || r.ErrorKind != "authentication" || !strings.Contains(r.Error, "API key") ||
		r.Answer != "" ||
		r.SessionID == "" {
		t.Errorf("%+v", r)
	}
	if answer, err := os.ReadFile(output); err != nil || len(answer) > 0 {
		t.Errorf("--output has %q, %v", answer, err)
	}
	h.run(exitUsage, "run", "--yes", "--sandbox", "none", "--result", result, "x")
	if r := h.result(result); r.ExitCode != exitUsage || !strings.Contains(r.Error, "none") || r.SessionID != "" {
		t.Errorf("%+v", r)
	}
	if got := h.run(exitUsage, "run", "--yes", "--result", "/none/result.json", "x"); !strings.Contains(got.stderr,
		"--result: open /none/result.json: no such file") {
		t.Error(got.stderr)
	}
	if got := h.run(exitUsage, "run", "--yes", "--output", "", "x"); !strings.Contains(got.stderr,
		"--output needs the name of a file") {
		t.Error(got.stderr)
	}
	linked := output + "-linked"
	if err := os.Link(output, linked); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{output, linked} {
		got := h.run(exitUsage, "run", "--yes", "--output", output, "--result", name, "x")
		if !strings.Contains(got.stderr, "--output and --result name the same file") {
			t.Error(got.stderr)
		}
	}
}

// A link of a repository does not decide which file a run writes, neither as the file nor on the
// way to it.
func TestX3_ResultsFollowNoLink(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("done"))
	h := newHome(t, url)
	away := t.TempDir()
	profile := filepath.Join(away, "profile")
	if err := errors.Join(os.WriteFile(profile, []byte("mine"), 0o600),
		os.Symlink(profile, filepath.Join(h.dir, "out.md")),
		os.Symlink(filepath.Join(away, "new"), filepath.Join(h.dir, "new.json")),
		os.Symlink(away, filepath.Join(h.dir, "out")),
		os.Mkdir(filepath.Join(h.dir, "own"), 0o700), os.Symlink("own", filepath.Join(h.dir, "inside"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out.md", "./out.md", filepath.Join(h.dir, "out.md"), "new.json", "out/profile",
		"out/other"} {
		for _, flag := range []string{"--output", "--result", "--debug"} {
			if got := h.run(exitUsage, "run", "--yes", flag, name, "x"); !strings.Contains(got.stderr,
				"symbolic link to "+away) {
				t.Errorf("%s %s: %s", flag, name, got.stderr)
			}
		}
	}
	if data, err := os.ReadFile(profile); err != nil || string(data) != "mine" {
		t.Errorf("the file has %q, %v", data, err)
	}
	if list, err := os.ReadDir(away); err != nil || len(list) != 1 {
		t.Errorf("made %v, %v", list, err)
	}
	h.run(0, "run", "--yes", "--output", "inside/answer", "--result", "/dev/null", "x")
	if answer, err := os.ReadFile(filepath.Join(h.dir, "own/answer")); err != nil || string(answer) != "done\n" {
		t.Errorf("--output has %q, %v", answer, err)
	}
}
