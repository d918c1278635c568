//go:build unix

package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool/coding"
)

// The processes of children die with the session.
func TestA5_AbortKillsTheChildrensProcesses(t *testing.T) {
	dir := make(chan string, 1)
	var h *host
	h = spawning(t, agent.Options{OnEvent: func(ev agent.Event) {
		switch e := innermost(ev).(type) {
		case *agent.SessionStart:
			if ev == agent.Event(e) {
				dir <- e.Dir
			}
		case *agent.ToolCallOutputDelta:
			h.Abort()
		}
	}}, map[string][]llmtest.Step{
		"go":    {llmtest.Calls(spawn("child")), llmtest.Calls(wait("agent-1")), llmtest.Text("never")},
		"child": {llmtest.Calls(llmtest.Call("shell", `{"command":"sleep 1000 & echo $! > pid; echo $! ; wait"}`))},
	}, coding.Shell(time.Minute))
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
		t.Errorf("Submit = %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(<-dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	// An empty list is an error of ps, and is what has to come; a zombie has ended.
	if stat, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output(); err == nil && !strings.HasPrefix(string(stat), "Z") {
		t.Errorf("the process %s lives: %s", pid, stat)
	}
}
