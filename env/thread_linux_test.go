package env_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"context"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
)

// What Launch.Thread does to its thread holds for the command and what it starts, at every level,
// and for nothing else.
func TestJ9_LaunchOnAThread(t *testing.T) { atLevels(t, launchOnAThread) }

func launchOnAThread(t *testing.T, level string) {
	called := 0
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Launch: func(_ context.Context,
		l env.Launch) (env.Launch, error) {
		l.Thread = func() error {
			called++
			return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		}
		return l, nil
	}})
	for range 2 {
		out := watch()
		wait(t, start(t, l, env.Command{Script: `sh -c 'grep NoNewPrivs: /proc/self/status'; [ -d /proc/$$ ] && echo its own number`, Output: out.Write}))
		if got := out.String(); got != "NoNewPrivs:\t1\nits own number\n" {
			t.Errorf("the command prints %q", got)
		}
	}
	if called != 2 {
		t.Errorf("Thread was called %d times", called)
	}
	if level == env.ContainPIDNS {
		return // the thread lives as long as the namespace of its command
	}
	// Those that started the commands end a moment after the start.
	await.For(t, "no thread of this process is restricted", func() bool {
		threads, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(threads, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), "NoNewPrivs:\t1")
		})
	})

	refusing := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Launch: func(_ context.Context,
		l env.Launch) (env.Launch, error) {
		l.Thread = func() error { return errors.New("not on this thread") }
		return l, nil
	}})
	if _, err := refusing.Start(t.Context(), env.Command{Script: "touch made"}); err == nil ||
		!strings.Contains(err.Error(), "not on this thread") {
		t.Errorf("a refusal gives %v", err)
	}
	if _, err := os.Stat(filepath.Join(refusing.WorkDir(), "made")); err == nil {
		t.Error("the command ran all the same")
	}
}
