package examples_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestQ2_Resume runs the example twice in one directory: the first run ends in the middle of a
// call.
func TestQ2_Resume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"echo started >> log.txt"}`)}}},
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"cat log.txt"}`)}}},
		fakellm.Turn{Text: "The entry is there."},
	)
	model := func(r *fakellm.Request) fakellm.Turn {
		if n := bytes.Count(r.Body, []byte("Add an entry to the log.")); n != 1 {
			t.Errorf("request %d has the task %d times", r.N, n)
		}
		return script(r)
	}
	out, err := command(t, "resume", dir, model, "crash").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || len(out) > 0 {
		t.Fatalf("the crash: %v, %q", err, out)
	}
	prints(t, "resume", command(t, "resume", dir, model))
	if text, err := os.ReadFile(filepath.Join(dir, "log.txt")); err != nil || string(text) != "started\n" {
		t.Errorf("the log has %q, %v", text, err)
	}
}
