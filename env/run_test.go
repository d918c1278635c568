//go:build unix

package env_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/await"
)

func TestAC4_3_RunCapturesAndTimes(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	var c capture.Buffer
	result, err := env.Run(t.Context(), l, env.Command{Script: "echo out; echo err >&2; exit 3", Output: c.Write}, 0)
	if err != nil || result.Code != 3 || result.TimedOut || result.Duration <= 0 {
		t.Errorf("Run: %+v, %v", result, err)
	}
	if c.Count(env.Stdout) != 4 || c.Count(env.Stderr) != 4 {
		t.Errorf("output is %q", c.Text())
	}
}

func TestAC4_4_Timeouts(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	for given, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, -1: 10 * time.Second, time.Minute: time.Minute, time.Hour: 600 * time.Second,
	} {
		result, err := env.Run(t.Context(), l, env.Command{Script: "true"}, given)
		if err != nil || result.Timeout != want {
			t.Errorf("with timeout %v: %+v, %v", given, result, err)
		}
	}
}

func TestAC4_5_TimeoutKillsTheTree(t *testing.T) { atLevels(t, timeoutKillsTheTree) }

func timeoutKillsTheTree(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Grace: -1})
	out, tag := watch(), newTag()
	// on a busy machine a second may be over before the child runs
	for timeout := time.Second; !strings.Contains(out.String(), "child "); timeout *= 4 {
		result, err := env.Run(t.Context(), l, env.Command{Script: `sleep 1000 & echo "child $!"; wait`,
			Env: []string{tag}, Output: out.Write}, timeout)
		if err != nil || !result.TimedOut || result.Signal == "" || result.Duration < timeout || timeout > await.Limit {
			t.Fatalf("Run: %+v, %v", result, err)
		}
	}
	child := pidAfter(t, out.String(), "child ")
	if left := survivors(t, tag, child); len(left) > 0 {
		t.Errorf("process %d survived: %q", child, left)
	}
}

func TestD4_ContextKillsTheTree(t *testing.T) { atLevels(t, contextKillsTheTree) }

func contextKillsTheTree(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	out, tag := watch(), newTag()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		out.until(t, "ready")
		cancel(gone)
	}()
	cmd := env.Command{Script: `sleep 1000 & echo "child $!"; echo ready; wait`, Env: []string{tag}, Output: out.Write}
	result, err := env.Run(ctx, l, cmd, time.Minute)
	if !errors.Is(err, gone) || result.TimedOut || result.Signal != "SIGTERM" {
		t.Errorf("Run: %+v, %v", result, err)
	}
	child := pidAfter(t, out.String(), "child ")
	if left := survivors(t, tag, child); len(left) > 0 {
		t.Errorf("process %d survived: %q", child, left)
	}
}

// broken is an environment whose Wait fails, as over a lost connection.
type broken struct {
	env.Environment
	env.Process
	killed bool
}

var errLost = errors.New("connection lost")

func (b *broken) Start(context.Context, env.Command) (env.Process, error) { return b, nil }
func (b *broken) Wait(context.Context) (env.Exit, error)                  { return env.Exit{}, errLost }
func (b *broken) Kill(context.Context) error                              { b.killed = true; return nil }

func TestD3_RunWithAFailingEnvironment(t *testing.T) {
	b := &broken{}
	if result, err := env.Run(t.Context(), b, env.Command{}, 0); !errors.Is(err, errLost) || result.TimedOut ||
		!b.killed {
		t.Errorf("Run: %+v, %v, killed %v", result, err, b.killed)
	}
	if _, err := env.Run(t.Context(), env.ReadOnly(b), env.Command{}, 0); !errors.Is(err, env.ErrReadOnly) {
		t.Errorf("Run: %v", err)
	}
}
