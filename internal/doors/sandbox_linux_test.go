package doors_test

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// sandbox is a sketch of package env/sandbox: commands see the system's programs and one directory,
// and have no network. A person can let single calls run outside.
type sandbox struct {
	env     *env.Local
	outside sync.Map // the ids of calls that may run outside, by session
}

type callKey struct{ session, call string }

// newSandbox returns a sandbox for a directory. If bubblewrap does not work, the test is skipped,
// or fails in CI.
func newSandbox(t *testing.T, dir string) *sandbox {
	t.Helper()
	args := []string{peer.Need(t, "bwrap"), "--unshare-pid", "--unshare-net", "--tmpfs", "/", "--dev", "/dev", "--proc",
		"/proc"}
	for _, system := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"} {
		args = append(args, "--ro-bind-try", system, system)
	}
	args = append(args, "--bind", dir, dir)
	if out, err := exec.Command(args[0], append(args[1:], "--", "/bin/sh", "-c",
		"true")...).CombinedOutput(); err != nil {
		peer.Missing(t, "bubblewrap does not work here: %v: %s", err, out)
	}
	box, err := env.NewLocal(dir, env.LocalOptions{Launch: func(_ context.Context, l env.Launch) (env.Launch, error) {
		l.Args = append(append(args[:len(args):len(args)], "--chdir", l.Dir, "--"), l.Args...)
		return l, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return &sandbox{env: box}
}

// authorize requires an approval for scripts that ask for the network.
func (s *sandbox) authorize(_ context.Context, req tool.Request) (tool.Decision, error) {
	if strings.Contains(req.Access.Command, "# needs the machine") {
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// approve plays the person, who lets the call run outside, once.
func (s *sandbox) approve(_ context.Context, req tool.Request) (tool.Decision, error) {
	s.outside.Store(callKey{req.SessionID, req.Call.ID}, true)
	return tool.Decision{Verdict: tool.Allow}, nil
}

// confine runs calls in the sandbox, except those that may run outside.
func (s *sandbox) confine(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if _, free := s.outside.LoadAndDelete(callKey{call.SessionID, call.ID}); free {
			return next(ctx, call)
		}
		inside := *call
		inside.Env = s.env
		return next(ctx, &inside)
	}
}

// Commands run in the sandbox. A command that a person approved runs outside, and the next one
// inside again.
func TestJ_Sandbox(t *testing.T) {
	secrets := t.TempDir()
	write(t, secrets, "key", "the key\n")
	look := "cat inside; cat " + secrets + "/key; echo seen >>log"
	h := newHost(t, env.LocalOptions{}, llmtest.Calls(shell(look)), llmtest.Calls(shell(look+" # needs the machine")),
		llmtest.Calls(shell(look)), llmtest.Text("done"))
	write(t, h.dir, "inside", "the file\n")
	box := newSandbox(t, h.dir)
	o := h.options(t, "boxed")
	o.Authorize, o.Approve, o.Middleware = box.authorize, box.approve, []tool.Middleware{box.confine}
	submit(t, h.start(t, o), "look around", agent.ReasonCompleted)
	for i, end := range h.callEnds() {
		if got := strings.Contains(end.Output, "the key\n"); got != (i == 1) || !strings.Contains(end.Output,
			"the file\n") || end.Ran.Exit.Code != 0 {
			t.Errorf("call %d saw %q", i, end.Output)
		}
	}
	if got := read(t, h.dir, "log"); got != "seen\nseen\nseen\n" {
		t.Errorf("the log is %q", got)
	}
}
