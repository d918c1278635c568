package envtest

import (
	"context"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// killChecks check Process.Kill. A descendant of the command, which the test cannot see, holds a
// FIFO open for writing, so the FIFO's reader sees when the last one has ended.
var killChecks = []check{
	{name: "D4_Kill", run: kill, needs: []Feature{Commands}},
	{name: "D4_KillAsksFirst", run: killAsksFirst, needs: []Feature{Commands}},
	{name: "D4_KillInsists", run: killInsists, needs: []Feature{Commands}},
	{name: "D4_KillByMany", run: killByMany, needs: []Feature{Commands}},
	{name: "D4_KillInAFlood", run: killInAFlood, needs: []Feature{Commands}},
	{name: "D4_KillAfterTheEnd", run: killAfterTheEnd, needs: []Feature{Commands}},
	{name: "D4_KillEndsTheTree", run: killEndsTheTree, needs: []Feature{Commands, FIFOs, Trees}},
	{name: "D4_KillEndsWhatIsLeft", run: killEndsWhatIsLeft, needs: []Feature{Commands, FIFOs, Trees}},
	{name: "D4_KillEndsWhatLeftTheSession", run: killEndsWhatLeftTheSession,
		needs: []Feature{Commands, FIFOs, Trees, Sessions}},
}

// kill kills a process, which must succeed.
func (t *tester) kill(p env.Process) {
	t.Helper()
	var err error
	t.within("Kill", func() { err = p.Kill(t.ctx) })
	t.must("Kill", err)
}

// waitNow waits for a process that has ended, which must take no time.
func (t *tester) waitNow(p env.Process) env.Exit {
	t.Helper()
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	var exit env.Exit
	var err error
	t.within("Wait", func() { exit, err = p.Wait(ctx) })
	t.must("Wait for a process that has ended", err)
	return exit
}

// startReady starts a command and waits until it prints that it is ready.
func (t *tester) startReady(script string) (env.Process, *output) {
	t.Helper()
	out := newOutput()
	p := t.start(env.Command{Script: script, Output: out.add})
	out.until(t, "ready\n")
	return p, out
}

// wasKilled checks the exit of a process that Kill has ended with a signal.
func (t *tester) wasKilled(p env.Process, signals ...string) {
	t.Helper()
	exit := t.waitNow(p)
	if exit.Code != -1 || !slices.Contains(signals, exit.Signal) {
		t.Errorf("it ended with %+v, want code -1 and one of the signals %q", exit, signals)
	}
}

func kill(t *tester) {
	p, out := t.startReady("echo ready; sleep 1000")
	t.kill(p)
	t.wasKilled(p, "SIGTERM")
	t.equal("output", out.all(), "ready\n")
}

func killAsksFirst(t *tester) {
	p, out := t.startReady("trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done")
	t.kill(p)
	t.equal("code", t.waitNow(p).Code, 3)
	t.equal("output", out.all(), "ready\nasked\n")
}

func killInsists(t *tester) {
	p, _ := t.startReady("trap '' TERM; echo ready; sleep 1000; echo slept")
	t.kill(p)
	t.wasKilled(p, "SIGKILL")
}

func killByMany(t *tester) {
	p, _ := t.startReady("echo ready; sleep 1000")
	var killing sync.WaitGroup
	for range 4 {
		killing.Go(func() {
			if err := p.Kill(t.ctx); err != nil {
				t.Errorf("Kill: %v", err)
			}
		})
	}
	t.within("Kill", killing.Wait)
	t.wasKilled(p, "SIGTERM")
}

// killInAFlood kills a command that prints as fast as it can.
func killInAFlood(t *tester) {
	grown := make(chan struct{}, 1)
	p := t.start(env.Command{Script: "while :; do echo flood; done", Output: func(int, []byte) {
		select {
		case grown <- struct{}{}:
		default:
		}
	}})
	t.within("the output", func() {
		select {
		case <-grown:
		case <-t.ctx.Done():
		}
	})
	t.kill(p)
	t.wasKilled(p, "SIGTERM", "SIGKILL", "SIGPIPE")
}

func killAfterTheEnd(t *tester) {
	p := t.start(env.Command{Script: "exit 4"})
	t.wait(p)
	for range 2 {
		t.kill(p)
	}
	t.equal("code", t.waitNow(p).Code, 4)
}

// watchFIFO starts a reader that ends when no process holds the FIFO open any more.
func (t *tester) watchFIFO() *output {
	t.Helper()
	t.arrange("mkfifo held")
	seen := newOutput()
	t.start(env.Command{Script: "cat held; echo gone", Output: seen.add})
	return seen
}

func killEndsTheTree(t *tester) {
	seen := t.watchFIFO()
	p := t.start(env.Command{Script: "(sh -c 'sleep 1000 & sleep 1000; :' & trap '' TERM; echo there; sleep 1000; " +
		"sleep 1000) >held & wait"})
	seen.until(t, "there\n")
	t.kill(p)
	seen.until(t, "gone\n")
}

func killEndsWhatIsLeft(t *tester) {
	seen := t.watchFIFO()
	p := t.start(env.Command{Script: "(echo there; exec sleep 1000) >held 2>&1 &"})
	seen.until(t, "there\n")
	t.equal("code", t.wait(p).Code, 0)
	t.kill(p)
	seen.until(t, "gone\n")
	t.equal("code", t.waitNow(p).Code, 0)
}

func killEndsWhatLeftTheSession(t *tester) {
	if exit := t.wait(t.start(env.Command{Script: "command -v setsid"})); exit.Code != 0 {
		t.Skip("not run: there is no setsid here")
	}
	seen := t.watchFIFO()
	p := t.start(env.Command{Script: "setsid sh -c 'echo there; sleep 1000; :' >held & wait"})
	seen.until(t, "there\n")
	t.kill(p)
	seen.until(t, "gone\n")
}
