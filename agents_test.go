package attractor

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Calls of subagents pass the same gate. Questions of agents that work side by side come one at a
// time, each with the agent's id and the directory of its command. What is remembered for one
// counts for all.
func TestL11_ParallelAgentsAskOneAtATime(t *testing.T) {
	const agents = 4
	b := newBench(t)
	var spawn, wait []any
	for i := range agents {
		b.write(fmt.Sprintf("dir%d/x", i), "")
		spawn = append(spawn, "spawn_agent",
			object{"task": fmt.Sprintf("task %d", i), "working_dir": fmt.Sprintf("dir%d", i)})
		wait = append(wait, "wait", object{"agent_id": fmt.Sprintf("agent-%d", i+1)})
	}
	task := regexp.MustCompile(`^task (\d)$`)
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		turns := []fakellm.Turn{calls(t, spawn...), calls(t, wait...), {Text: "done"}}
		for _, m := range r.Messages {
			if n := task.FindStringSubmatch(m.Parts.Text()); n != nil {
				turns = []fakellm.Turn{calls(t, "shell", object{"command": "mkdir made" + n[1]}),
					calls(t, "shell", object{"command": "touch common"}), {Text: "done"}}
			}
		}
		return turns[min(r.Turn(), len(turns)-1)]
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	b.url = web.URL
	var busy atomic.Int32 // questions that are open
	var asked []permit.Question
	b.submit(b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
		if busy.Add(1) != 1 {
			t.Error("two questions at a time")
		}
		for range 10_000 { // the others could ask meanwhile
			runtime.Gosched()
		}
		defer busy.Add(-1)
		asked = append(asked, q)
		return permit.Answer{Verdict: tool.Allow, Remember: q.Access.Command == "touch common"}, nil
	}), "start them")
	var who []string
	common := 0
	for _, q := range asked {
		if q.AgentID == "" {
			t.Errorf("a question of nobody: %+v", q)
		}
		if q.Access.Command == "touch common" {
			common++
			continue
		}
		var n int
		if _, err := fmt.Sscanf(q.Access.Command, "mkdir made%d", &n); err != nil ||
			filepath.Base(q.CommandDir) != fmt.Sprintf("dir%d", n) {
			t.Errorf("the command %q is said to run in %s", q.Access.Command, q.CommandDir)
		}
		if b.read(filepath.Join(fmt.Sprintf("dir%d", n), "common")) != "" {
			t.Error("the command did not run in the agent's directory")
		}
		who = append(who, q.AgentID)
	}
	slices.Sort(who)
	if len(slices.Compact(who)) != agents || common != 1 {
		t.Errorf("%d agents have asked, %d times about the common command", len(who), common)
	}
}
