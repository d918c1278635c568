package mcptest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// killRounds counts how often servers and hosts of servers are killed.
var killRounds = flag.Int("mcp.kills", 10,
	"how many servers, and how many hosts of servers, are killed with SIGKILL at random moments")

// mortal is a server that is killed at a moment of its environment.
func mortal(context.Context) error {
	after, err := time.ParseDuration(os.Getenv("AFTER"))
	if err != nil {
		return err
	}
	time.AfterFunc(after, func() { _ = killed(nil, message{}) })
	return newRaw("ping").serve()
}

// A server that is killed at a random moment costs at most the call that was running, is started
// again by the next, and leaves nothing.
func TestM5_ServersKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	dice, ended, answered := seed.New(t), 0, 0
	for range *killRounds {
		after := time.Duration(dice.Int64N(int64(100 * time.Millisecond)))
		server := as(t, "it", "mortal")
		server.Required, server.Env["AFTER"] = true, after.String()
		s := start(t, mcp.Options{Servers: []mcp.Server{server}, Warn: func(string, error) {}})
		if err := s.Ready(t.Context()); err != nil {
			if !strings.Contains(err.Error(), "its process was ended by") {
				t.Errorf("killed after %s: Ready = %v", after, err)
			}
			ended++
		} else {
			for until := ended + 1; ended < until; {
				o := call(t.Context(), t, s, "mcp__it__ping", `{}`, tool.Call{})
				switch text := o.Model.Text(); {
				case !o.IsError && text == "ping was called":
					answered++
				case o.IsError && (strings.Contains(text, "ended during the call, which may have had effects") ||
					strings.Contains(text, "is not running")) &&
					strings.Contains(text, "its process was ended by"):
					ended++
				default:
					t.Fatalf("killed after %s, a call returns %q", after, text)
				}
			}
			if o := call(t.Context(), t, s, "mcp__it__ping", `{}`, tool.Call{}); o.IsError &&
				!strings.Contains(o.Model.Text(), "was ended by") {
				t.Errorf("killed after %s, the next call returns %q", after, o.Model.Text())
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("killed after %s: Close = %v", after, err)
		}
	}
	t.Logf("%d servers: %d calls answered, %d starts and calls ended", *killRounds, answered, ended)
}

// hosting is a host with servers of several kinds, which calls them until it is killed.
func hosting(ctx context.Context) error {
	dir := os.Getenv("HOSTING")
	e, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var list []mcp.Server
	programs := []string{"fine"}
	if runtime.GOOS == "linux" { // elsewhere nothing ends what does not end by itself
		programs = append(programs, "stubborn", "parent")
	}
	for _, program := range programs {
		list = append(list, mcp.Server{Name: program, Command: self, Args: []string{"-test.run=^$"},
			Env: map[string]string{role: program}, Required: true})
	}
	s := mcp.Start(ctx, mcp.Options{Servers: list, Env: func(mcp.Server) (env.Environment, error) { return e, nil }})
	fmt.Println("started")
	if err := s.Ready(ctx); err != nil {
		return err
	}
	r, err := tool.NewRegistry(s.Tools()...)
	if err != nil {
		return err
	}
	for {
		for _, one := range list {
			o := r.Run(ctx, llm.ToolCall{ID: "1", Name: "mcp__" + one.Name + "__ping", Args: `{}`},
				tool.Call{Session: new(tool.Plain)}, nil)
			if o.IsError {
				return errors.New(o.Model.Text())
			}
		}
	}
}

// A host that is killed at a random moment leaves no server and nothing that a server started: at
// once where the machine has PID namespaces for us, else from the next start of a host on. TestMain
// finds what is left.
func TestM5_HostsKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dice := seed.New(t)
	for range *killRounds {
		cmd := exec.Command(self, "-test.run=^$")
		cmd.Env = append(os.Environ(), role+"=hosting", "HOSTING="+t.TempDir())
		stderr := new(strings.Builder)
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("started"))); err != nil {
			t.Fatalf("the host did not start: %v, %v: %s", err, cmd.Wait(), stderr)
		}
		after := time.Duration(dice.Int64N(int64(300 * time.Millisecond)))
		time.Sleep(after) // a random moment is what is tested
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
		if err := cmd.Wait(); stderr.Len() > 0 {
			t.Errorf("after %s the host ended with %v: %s", after, err, stderr)
		}
	}
	if strings.Contains(local(t).Confinement().Containment, "pidns") {
		return
	}
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{EndAbandoned: true, Grace: time.Millisecond})
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Error(err)
	}
}
