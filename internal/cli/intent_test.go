//go:build unix

package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The process is killed during the second of three calls. The third had not begun, so it runs when
// the session is resumed. Only the outcome of the second is unknown.
func TestI14_KilledInTheSecondOfThreeCalls(t *testing.T) {
	url, server := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "a.txt", "content": "1"}),
		use("shell", map[string]any{"command": "echo once >> log.txt; echo started; cat gate"}),
		use("write_file", map[string]any{"file_path": "b.txt", "content": "3"})), fakellm.Turn{Text: "recovered"})
	h := newHome(t, url)
	gate := filepath.Join(h.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { // ends the killed process's command if it still waits for the gate
		f, err := os.OpenFile(gate, os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := attractorCommand(t, "run", "--yes", "--json", "go")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "TOOL_CALL_OUTPUT_DELTA") {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed process succeeded")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "b.txt")); !os.IsNotExist(err) {
		t.Fatalf("the third call began: %v", err)
	}
	if out := h.run(0, h.resumeArgs()...); out.stdout != "recovered\n" {
		t.Errorf("stdout %q", out.stdout)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "b.txt")); err != nil || string(data) != "3" {
		t.Errorf("the third call did not run: %q, %v", data, err)
	}
	if ran := h.logLines(); len(ran) != 1 {
		t.Errorf("the second call ran %d times", len(ran))
	}
	requests := server.Requests()
	if body := string(requests[len(requests)-1].Body); strings.Count(body, "outcome is unknown") != 1 {
		t.Errorf("want one call with an unknown outcome in the request: %s", body)
	}
}
