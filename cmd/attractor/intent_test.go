//go:build unix

package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// Of three calls that run one after the other the process is killed in the second. What comes after it never began, so it runs when
// the session goes on, and only the second is of unknown outcome.
func TestI14_KilledInTheSecondOfThreeCalls(t *testing.T) {
	url, server := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "a.txt", "content": "1"}),
		use("shell", map[string]any{"command": "echo once >> log.txt; echo started; cat gate"}),
		use("write_file", map[string]any{"file_path": "b.txt", "content": "3"})), fakellm.Turn{Text: "recovered"})
	h := newHome(t, url)
	gate := filepath.Join(h.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { // what the killed process has left running ends with this, if nobody has ended it before
		f, err := os.OpenFile(gate, os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := attractor(t, "run", "--yes", "--json", "go")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+url)
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
		t.Fatal("killed, and it ended well")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "b.txt")); !os.IsNotExist(err) {
		t.Fatalf("the third call began: %v", err)
	}
	if out := h.run(0, h.resumeArgs()...); out.stdout != "recovered\n" {
		t.Errorf("%q", out.stdout)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "b.txt")); err != nil || string(data) != "3" {
		t.Errorf("the third call did not run: %q, %v", data, err)
	}
	if ran := h.logLines(); len(ran) != 1 {
		t.Errorf("the second call ran %d times", len(ran))
	}
	requests := server.Requests()
	if body := string(requests[len(requests)-1].Body); strings.Count(body, "outcome is unknown") != 1 {
		t.Errorf("%s, want one call of unknown outcome", body)
	}
}
