package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// home is a user's home directory with sessions of its own, and a project.
type home struct {
	testing.TB
	dir     string // the home directory
	project string
	model   string // the URL of the scripted model
}

// newHome returns an empty home.
func newHome(t testing.TB, model fakellm.Model) *home {
	t.Helper()
	return homeIn(t, t.TempDir(), "project", model, fakellm.Options{})
}

// homeIn returns a home in a directory that may be there already. Without a model nothing can be
// run in it, only looked at.
func homeIn(t testing.TB, dir, project string, model fakellm.Model, o fakellm.Options) *home {
	t.Helper()
	h := &home{TB: t, dir: dir, project: filepath.Join(dir, project)}
	if err := os.MkdirAll(h.project, 0o755); err != nil {
		t.Fatal(err)
	}
	if model != nil {
		server := httptest.NewServer(fakellm.New(model, o))
		t.Cleanup(server.Close)
		h.model = server.URL
	}
	return h
}

// file writes a file of the project.
func (h *home) file(name, content string) {
	h.Helper()
	path := filepath.Join(h.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.Fatal(err)
	}
}

// journals returns the directory of the sessions, which it makes if there is none.
func (h *home) journals() string {
	h.Helper()
	dir := filepath.Join(h.dir, ".local/state/attractor/sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.Fatal(err)
	}
	return dir
}

// command returns the command in this home, in the project. It is killed when the test may no
// longer run.
func (h *home) command(args ...string) *exec.Cmd {
	h.Helper()
	// the test's own is cancelled before what runs can be ended in peace
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	h.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, the.command.path(h), args...)
	cmd.Dir = h.project
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TMPDIR=" + h.TempDir(), "GOCACHE=" + goCache(h),
		"GOTOOLCHAIN=local", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + h.model + "/v1"}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// goCache returns the build cache of the machine: the sessions run Go's tests.
func goCache(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// run runs the command to its end and returns its standard output.
func (h *home) run(args ...string) string {
	h.Helper()
	cmd := h.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.Fatalf("attractor %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// object is an object of JSON.
type object = map[string]any

// conversation is a session that another process runs: attractor run --input json.
type conversation struct {
	*home
	cmd    *exec.Cmd
	seen   strings.Builder
	in     io.WriteCloser
	lines  chan string // what it has printed, read at once so that it need not wait for the test
	stderr strings.Builder
	id     string // of the session
}

// converse starts a session and waits until it has begun.
func (h *home) converse(args ...string) *conversation {
	h.Helper()
	c := &conversation{home: h, cmd: h.command(append([]string{"run", "--input", "json"}, args...)...)}
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	c.in, c.lines = in, make(chan string, 1<<14)
	if err := c.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	started := c.next("SESSION_START")
	c.id, _ = started["session_id"].(string)
	return c
}

// say sends a line with the members of a type.
func (c *conversation) say(kind string, members object) {
	c.Helper()
	line := object{"type": kind}
	for name, value := range members {
		line[name] = value
	}
	data, err := json.Marshal(line)
	if err != nil {
		c.Fatal(err)
	}
	if _, err := c.in.Write(append(data, '\n')); err != nil {
		c.Fatalf("%v: %s", err, c.stderr.String())
	}
}

// next returns the next event of a kind.
func (c *conversation) next(kind string) object {
	c.Helper()
	for line := range c.lines {
		fmt.Fprintf(&c.seen, "%.300s\n", line)
		var event object
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			c.Fatalf("%s: %v", line, err)
		}
		if event["kind"] == "REPLY" && event["ok"] == false {
			c.Fatalf("refused: %s", line)
		}
		if event["kind"] == kind {
			return event
		}
	}
	c.Fatalf("there was no %s; stderr: %s; so far:\n%s", kind, c.stderr.String(), c.seen.String())
	return nil
}

// end closes the session and waits for the process.
func (c *conversation) end() {
	c.Helper()
	c.say("close", nil)
	c.next("SESSION_END")
	if err := c.in.Close(); err != nil {
		c.Error(err)
	}
	for range c.lines {
	}
	_ = c.cmd.Wait() // its exit code is that of the last input
}
