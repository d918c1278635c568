//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool/coding"
)

// The processes of children die with the session.
func TestA5_AbortKillsTheChildrensProcesses(t *testing.T) {
	// Processes are recognized by their command line, because the ids that they print may belong to
	// a namespace.
	sleep := fmt.Sprintf("sleep 1000.%d", rand.Uint32())
	var h *host
	h = openSpawning(t, agent.Options{OnEvent: func(ev agent.Event) {
		if _, ok := innermost(ev).(*agent.ToolCallOutputDelta); ok {
			h.Abort()
		}
	}}, map[string][]llmtest.Step{
		"go":    {llmtest.Calls(spawn("child")), llmtest.Calls(wait("agent-1")), llmtest.Text("never")},
		"child": {llmtest.Calls(llmtest.Call("shell", `{"command":"`+sleep+` & echo begun; wait"}`))},
	}, coding.Shell(time.Minute))
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
		t.Errorf("Submit = %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	out, err := exec.Command("ps", "-axww", "-o", "stat=,args=").Output()
	if err != nil {
		peer.Missing(t, "what runs cannot be listed: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "Z") && strings.HasSuffix(strings.TrimSpace(line), sleep) { // a zombie has ended
			t.Errorf("left running: %s", line)
		}
	}
}
