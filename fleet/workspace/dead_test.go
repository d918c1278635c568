package workspace_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/await"
)

// deadVar makes the test program a worker that opens a workspace in a directory, starts a command
// there, and waits to be killed.
const deadVar = "ATTRACTOR_TEST_DEAD_WORKER"

// dieIn is that worker.
func dieIn(dir string) error {
	w, err := workspace.New(workspace.Options{Dir: dir})
	if err != nil {
		return err
	}
	ws, err := w.Open(context.Background(), fleet.Task{ID: "t1"}, nil, nil)
	if err != nil {
		return err
	}
	// At this level the kernel does not end commands with their host.
	local, err := env.NewLocal(dirOf(ws), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return err
	}
	script := fmt.Sprintf("while :; do echo late >> %s/late 2>/dev/null; sleep 0.01; done", dirOf(ws))
	if _, err := local.Start(context.Background(), env.Command{Script: script}); err != nil {
		return err
	}
	select {}
}

// A worker that was killed left a command running. It has ended when the next owner begins, and
// does not write into its workspace.
func TestP4_CommandsOfTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), deadVar+"="+dir)
	must(t, cmd.Start())
	late := filepath.Join(dir, fleet.DefaultTenant, "t1", "work", "late")
	ran := await.Holds(func() bool {
		_, err := os.Stat(late)
		return err == nil
	})
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if !ran {
		t.Fatal("the command did not run")
	}
	ws := open(t, newWorkspaces(t, func(o *workspace.Options) { o.Dir = dir }), fleet.Task{ID: "t1"},
		space(t).Objects, nil)
	if filepath.Dir(late) != dirOf(ws) {
		t.Fatalf("the next owner works in %s", dirOf(ws))
	}
	do(t, ws, "sleep 0.2") // time for the command to write
	if got := listing(t, dirOf(ws)); got != "" {
		t.Errorf("the next owner begins with %s", got)
	}
}

// What workers have left that are gone is removed from a directory whose name would be a pattern.
func TestP5_SweptWhateverTheDirectoryIsCalled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tasks[1")
	left := filepath.Join(dir, fleet.DefaultTenant, "t1")
	must(t, os.MkdirAll(left, 0o700))
	must(t, os.WriteFile(left+"~lock", nil, 0o600))
	newWorkspaces(t, func(o *workspace.Options) { o.Dir = dir })
	for _, name := range []string{left, left + "~lock"} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
