package envtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
)

// processChecks check how processes end and how callers wait for them.
var processChecks = []check{
	{name: "D3_ExitCode", run: exitCode, needs: []Feature{Commands}},
	{name: "D3_Signal", run: signal, needs: []Feature{Commands, Signals}},
	{name: "D3_Duration", run: duration, needs: []Feature{Commands}},
	{name: "D3_WaitEndsWithItsContext", run: waitEndsWithItsContext, needs: []Feature{Commands}},
	{name: "D3_WaitByMany", run: waitByMany, needs: []Feature{Commands}},
	{name: "D3_StartWithEndedContext", run: startWithEndedContext, needs: []Feature{Commands}},
	{name: "D3_StartContextDoesNotEndTheProcess", run: startContextDoesNotEndTheProcess, needs: []Feature{Commands}},
	{name: "D3_IDsAreUnique", run: idsAreUnique, needs: []Feature{Commands}},
	{name: "D3_CommandsSideBySide", run: commandsSideBySide, needs: []Feature{Commands}},
	{name: "AC4_5_RunTimesOut", run: runTimesOut, needs: []Feature{Commands}},
}

func exitCode(t *tester) {
	for script, code := range map[string]int{"exit 7": 7, "true": 0, "exit 255": 255, "no-such-command-here": 127} {
		exit := t.wait(t.start(env.Command{Script: script}))
		t.equal("code of "+script, exit.Code, code)
		t.equal("signal of "+script, exit.Signal, "")
	}
}

func signal(t *tester) {
	exit := t.wait(t.start(env.Command{Script: "kill -s KILL $$"}))
	t.equal("code after a signal", exit.Code, -1)
	t.equal("signal", exit.Signal, "SIGKILL")
}

func duration(t *tester) {
	began := time.Now()
	exit := t.wait(t.start(env.Command{Script: "true"}))
	if took := time.Since(began); exit.Duration <= 0 || exit.Duration > took {
		t.Errorf("the command took %v, and all of this %v", exit.Duration, took)
	}
}

func waitEndsWithItsContext(t *tester) {
	p := t.start(env.Command{Script: "read x; exit 3", Stdin: true})
	ctx, gone := t.ended()
	var err error
	t.within("Wait with a context that has ended", func() { _, err = p.Wait(ctx) })
	t.isError("Wait", err, gone)
	t.endInput(p)
	t.equal("code", t.wait(p).Code, 3)
	t.equal("code once more, whatever the context", t.waitNow(p).Code, 3)
}

func waitByMany(t *tester) {
	p := t.start(env.Command{Script: "read x; exit 3", Stdin: true})
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() {
			if exit, err := p.Wait(t.ctx); err != nil || exit.Code != 3 {
				t.Errorf("Wait: %+v, %v", exit, err)
			}
		})
	}
	t.endInput(p)
	t.within("Wait", waiting.Wait)
}

func startWithEndedContext(t *tester) {
	t.run(env.Command{Script: "true"}) // skips without commands
	t.put("f", "x", 0o644)
	ctx, gone := t.ended()
	_, err := t.env.Start(ctx, env.Command{Script: "rm f"})
	t.isError("Start", err, gone)
	t.equal("content", t.read("f"), "x")
}

// startContextDoesNotEndTheProcess exchanges data with the process after the context of its start
// has ended.
func startContextDoesNotEndTheProcess(t *tester) {
	t.run(env.Command{Script: "true"}) // skips without commands
	ctx, cancel := context.WithCancel(t.ctx)
	out := newOutput()
	p, err := t.env.Start(ctx, env.Command{Script: "while read x; do echo $x; done; exit 5", Stdin: true,
		Output: out.add})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		line := strconv.Itoa(i) + "\n"
		t.send(p, line)
		out.until(t, line)
	}
	t.endInput(p)
	t.equal("code", t.wait(p).Code, 5)
}

func idsAreUnique(t *tester) {
	seen := map[string]bool{}
	for range 3 {
		p := t.start(env.Command{Script: "true"})
		if p.ID() == "" || seen[p.ID()] {
			t.Errorf("id %q comes again", p.ID())
		}
		seen[p.ID()] = true
		t.wait(p)
	}
}

// commandsSideBySide starts several commands that wait for input and ends them in another order.
func commandsSideBySide(t *tester) {
	var processes [4]env.Process
	var outputs [4]*output
	for i := range processes {
		outputs[i] = newOutput()
		processes[i] = t.start(env.Command{Script: "echo ready; cat", Stdin: true, Output: outputs[i].add})
	}
	for i := len(processes) - 1; i >= 0; i-- {
		outputs[i].until(t, "ready\n")
		t.send(processes[i], string(rune('0'+i)))
		t.endInput(processes[i])
		t.equal("code", t.wait(processes[i]).Code, 0)
		t.equal("output", outputs[i].all(), "ready\n"+string(rune('0'+i)))
	}
}

func runTimesOut(t *tester) {
	t.run(env.Command{Script: "true"}) // skips without commands
	out := newOutput()
	var result env.Result
	var err error
	t.within("Run", func() {
		result, err = env.Run(t.ctx, t.env, env.Command{Script: "echo partial; sleep 1000", Output: out.add},
			2*time.Second)
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Run: %v", err)
	}
	if err != nil || !result.TimedOut || result.Code == 0 {
		t.Errorf("the result is %+v, %v", result, err)
	}
	t.equal("output", out.all(), "partial\n")
}
