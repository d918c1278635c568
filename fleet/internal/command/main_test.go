package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// mainVar is the variable that makes the test binary the command.
const mainVar = "FLEET_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVar) != "" {
		os.Exit(Main())
	}
	orphans.Verify(m.Run)
}

// home is what a command has: a directory to be in, and a model that answers.
type home struct {
	*testing.T
	dir string
	url string // of the model
}

// newHome returns a home with a model. Without one, each session runs the shell commands that its
// prompt has, one line after the other, and answers.
func newHome(t *testing.T, model fakellm.Model) *home {
	t.Helper()
	if model == nil {
		model = obedient
	}
	server := httptest.NewServer(fakellm.New(model, fakellm.Options{}))
	t.Cleanup(server.Close)
	return &home{T: t, dir: t.TempDir(), url: server.URL}
}

// obedient is a model that runs the lines of the prompt behind "$ ", and then answers.
func obedient(r *fakellm.Request) fakellm.Turn {
	prompt, results := "", 0
	for _, m := range r.Messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.Text:
				if prompt == "" && strings.Contains(p.Text, "task ") {
					prompt = p.Text
				}
			case llm.ToolResult:
				results++
			}
		}
	}
	for line := range strings.SplitSeq(prompt, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		if results--; results < 0 {
			args, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				return fakellm.Turn{Text: err.Error()}
			}
			return fakellm.Turn{Calls: []fakellm.Call{{ID: fmt.Sprintf("call%d", r.N), Name: "shell", Args: args}}}
		}
	}
	first, _, _ := strings.Cut(prompt, "\n")
	return fakellm.Turn{Text: "All of " + first + " is done."}
}

// command returns the command in a clean environment. It is killed after a minute.
func (h *home) command(args ...string) *exec.Cmd {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = h.dir
	cmd.Env = []string{mainVar + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TMPDIR=" + h.TempDir(),
		"ANTHROPIC_API_KEY=sk-of-this-test",
		"ANTHROPIC_BASE_URL=" + h.url, "GORACE=atexit_sleep_ms=0", "GIT_CONFIG_GLOBAL=/dev/null"}
	return cmd
}

// output holds the exit code and the output of a command.
type output struct {
	code           int
	stdout, stderr string
}

// run runs a command to its end, whatever its exit code.
func (h *home) run(args ...string) output {
	h.Helper()
	return runCommand(h.T, h.command(args...))
}

func runCommand(t *testing.T, cmd *exec.Cmd) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// write writes a file of the home.
func (h *home) write(name, text string) string {
	h.Helper()
	name = filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		h.Fatal(err)
	}
	return name
}

// read reads a file of the home.
func (h *home) read(name string) string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}

// repository makes a git repository with one file.
func (h *home) repository(name string) {
	h.Helper()
	h.write(name+"/README.md", "This is "+name+".\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(h.dir, name)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			h.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

// tasks writes a file of tasks.
func (h *home) tasks(tasks ...map[string]any) {
	h.Helper()
	var text strings.Builder
	for _, task := range tasks {
		line, err := json.Marshal(task)
		if err != nil {
			h.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	h.write("tasks.jsonl", text.String())
}

// results reads results.jsonl, by id.
func (h *home) results(dir string) map[string]resultLine {
	h.Helper()
	all := map[string]resultLine{}
	for line := range strings.Lines(h.read(dir + "/results.jsonl")) {
		var r resultLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			h.Fatal(err)
		}
		all[r.ID] = r
	}
	return all
}
