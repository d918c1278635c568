package mcptest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// descriptors returns how many files this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// aloneVar says that this process runs one test and nothing beside it.
const aloneVar = "MCPTEST_ALONE"

// Servers that do not start, flood, die in calls and leave processes behind cost no descriptor and
// no process of this one once they are closed. The test counts what its process has open, so it has
// a process of its own and the others need not wait for it.
func TestM5_HostileServersLeaveNothing(t *testing.T) {
	if os.Getenv(aloneVar) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), aloneVar+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	misbehave := func(t *testing.T) {
		mute := as(t, "mute", "mute")
		mute.StartTimeout = 100 * time.Millisecond
		list := []mcp.Server{as(t, "rude", "rude"), as(t, "parent", "parent"), as(t, "refuses", "refuses"), mute,
			{Name: "nothing", Command: "no-such-program"}}
		for i := range list {
			list[i].Required = true
		}
		s := start(t, mcp.Options{Servers: list, Warn: func(string, error) {}})
		if err := s.Ready(t.Context()); err == nil {
			t.Error("all servers have started")
		}
		for _, name := range []string{"rude__exit", "rude__kill", "rude__flood", "parent__leave", "rude__ping",
			"parent__ping"} {
			call(t.Context(), t, s, "mcp__"+name, `{}`, tool.Call{Live: func(int, []byte) {}})
		}
	}
	t.Run("once", misbehave) // what this process opens once stays open
	before := descriptors(t)
	t.Run("again", misbehave)
	if !await.Holds(func() bool { return descriptors(t) <= before }) { // some are closed on goroutines of the runtime
		t.Errorf("%d files are open, and %d were before", descriptors(t), before)
	}
}
