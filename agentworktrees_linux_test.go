package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// In the sandbox the commands of an agent in a worktree commit there, with the session's cache, and
// change nothing in the session's directory, whatever the mode.
func TestO8_AgentsInTheSandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	f := newFarm(t)
	f.script("work", f.runs("echo x >"+f.dir+"/f.txt; rm "+f.dir+"/.gitignore; touch "+f.dir+"/new"),
		f.runs("echo y >new && git add . && git commit -qm new && cat ~/.cache/shared"), fakellm.Turn{Text: "done"})
	f.script("go", f.runs("mkdir -p ~/.cache && echo WARM >~/.cache/shared"), calls(t, "Agent", isolated("work")),
		fakellm.Turn{Text: "done"})
	c := f.config()
	c.Mode, c.Sandbox = permit.ModeFull, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir(),
		Cache: t.TempDir()}
	f.submit(c, "go", f.watch)
	f.clean()
	tops, _ := f.worktrees()
	if len(tops) != 1 || !strings.Contains(f.lastResults(), "it has 1 commit.") {
		t.Fatalf("worktrees %v: %s", tops, f.lastResults())
	}
	if data, err := os.ReadFile(filepath.Join(tops[0], "new")); err != nil || string(data) != "y\n" {
		t.Errorf("%q, %v", data, err)
	}
	requests := f.server.Requests() // the last but one is the agent's
	var said string
	for _, m := range requests[len(requests)-2].Messages {
		for _, part := range m.Parts {
			if result, ok := part.(llm.ToolResult); ok {
				said += result.Content.Text()
			}
		}
	}
	if !strings.Contains(said, "WARM") {
		t.Errorf("the agent's commands said %s", said)
	}
}
