package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestO6_PassedChecksVerify(t *testing.T) {
	w := newWorld(t, commands("test -e done", "echo second"), shell("echo x > done"), llmtest.Text("I could not do it"))
	got := w.submit("do it")
	want(t, got, check.Verified, "")
	if len(got.Runs) != 2 || got.Runs[1].Output != "second\n" || got.Rounds != 0 || got.Tree == "" {
		t.Errorf("the report is %+v", got)
	}
}

func TestO6_FailingChecksSendTheAgentBack(t *testing.T) {
	w := newWorld(t, commands("cat done", "echo never"), llmtest.Text("All tests pass."), shell("echo x > done"),
		llmtest.Text("Now they do."))
	got := w.submit("do it")
	want(t, got, check.Verified, "")
	if got.Rounds != 1 {
		t.Errorf("%d rounds", got.Rounds)
	}
	if told := w.told(1); !strings.Contains(told, "cat done") || !strings.Contains(told, "No such file") ||
		!strings.Contains(told, "exit code 1") {
		t.Errorf("the model was told: %s", told)
	}
}

func TestO6_AClaimOfTheModelVerifiesNothing(t *testing.T) {
	claim := llmtest.Text("Status: verified. All checks passed.")
	w := newWorld(t, check.Options{Commands: []string{"echo broken; exit 3"}, Rounds: 2}, claim, claim, claim)
	got := w.submit("do it")
	want(t, got, check.Failed, "exit code 3")
	if got.Rounds != 2 || len(w.model.Requests()) != 3 {
		t.Errorf("%d rounds, %d requests", got.Rounds, len(w.model.Requests()))
	}
	if text := got.String(); !strings.Contains(text, "broken") {
		t.Errorf("without the output: %s", text)
	}
}

func TestO6_NeverSentBack(t *testing.T) {
	w := newWorld(t, check.Options{Commands: []string{"false"}, Rounds: -1}, llmtest.Text("done"))
	want(t, w.submit("do it"), check.Failed, "exit code 1")
}

func TestO6_AChangeAfterTheCheckIsStale(t *testing.T) {
	w := newWorld(t, commands("true"), llmtest.Text("done"))
	result, err := w.session.Submit(t.Context(), "do it")
	if err != nil {
		t.Fatal(err)
	}
	w.write("other.txt", "somebody else")
	want(t, w.end(result.Reason), check.Unverified, "has changed since the checks passed: other.txt (what is no part "+
		"of the task")
}

func TestO6_AChangeAfterTheEndIsStale(t *testing.T) {
	w := newWorld(t, commands("true"), llmtest.Text("done"))
	got := w.submit("do it")
	want(t, got, check.Verified, "")
	w.checks.Again(t.Context(), &got)
	want(t, got, check.Verified, "")
	w.write("late.txt", "a background command")
	w.checks.Again(t.Context(), &got)
	want(t, got, check.Unverified, "late.txt")
}

func TestO6_CheckThatChangesTheTree(t *testing.T) {
	w := newWorld(t, commands("date +%N >> log; echo $$ >> log"), llmtest.Text("done"))
	want(t, w.submit("do it"), check.Unverified, "change the tree: log")
	once := newWorld(t, commands("echo generated > made.txt"), llmtest.Text("done"))
	want(t, once.submit("do it"), check.Verified, "")
}

func TestO6_CheckThatTakesTooLong(t *testing.T) {
	w := newWorld(t, check.Options{Commands: []string{"echo begun; sleep 1000"}, Timeout: 50 * time.Millisecond,
		Rounds: -1}, llmtest.Text("done"))
	got := w.submit("do it")
	want(t, got, check.Failed, "its time was over")
	if !got.Runs[0].TimedOut {
		t.Errorf("the report is %+v", got)
	}
}

// cut is an environment whose connection breaks while a command runs.
type cut struct{ env.Environment }

func (cut) Start(_ context.Context, c env.Command) (env.Process, error) {
	c.Output(env.Stdout, []byte("begun"))
	return broken{}, nil
}

type broken struct{ env.Process }

func (broken) Wait(context.Context) (env.Exit, error) { return env.Exit{}, env.ErrLost }

func (broken) Kill(context.Context) error { return env.ErrLost }

// The agent cannot mend a connection, so it is not sent back.
func TestO6_ALostConnectionVerifiesNothing(t *testing.T) {
	o := commands("make")
	o.Env = cut{}
	w := newWorld(t, o, llmtest.Text("done"))
	got := w.submit("do it")
	want(t, got, check.Unverified, `"make" could not be run to its end: `)
	if !strings.Contains(got.Why, env.ErrLost.Error()) || got.Runs[0].Output != "begun" || got.Rounds != 0 {
		t.Errorf("the report is %+v", got)
	}
}

func TestO6_WhatACheckLeavesEnds(t *testing.T) {
	w := newWorld(t, commands("sleep 1000 >/dev/null 2>&1 & echo server"), llmtest.Text("done"))
	want(t, w.submit("do it"), check.Verified, "") // TestMain finds processes that are left
}

func TestO6_LongOutputIsBounded(t *testing.T) {
	w := newWorld(t, commands("echo first; yes word | head -c 3000000; printf 'last\\033[31m'; exit 1"),
		llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"), llmtest.Text("d"))
	got := w.submit("do it")
	output := got.Runs[0].Output
	if len(output) > 20<<10 || !strings.HasPrefix(output, "first\n") || !strings.Contains(output, "\nlast") ||
		strings.Contains(output, "\x1b") || !strings.Contains(output, "omitted") {
		t.Errorf("%d bytes of output: %.20q ... %q", len(output), output, output[max(0, len(output)-20):])
	}
	if got.Rounds != check.DefaultRounds {
		t.Errorf("%d rounds", got.Rounds)
	}
}

func TestO6_SecretsInOutputAreMasked(t *testing.T) {
	o := commands("echo hunter2; exit 1")
	o.Mask = func(text string) string { return strings.ReplaceAll(text, "hunter2", "[masked]") }
	o.Rounds = 1
	w := newWorld(t, o, llmtest.Text("a"), llmtest.Text("b"))
	got := w.submit("do it")
	if strings.Contains(w.told(1)+got.String()+string(w.noted), "hunter2\n") || !strings.Contains(got.Runs[0].Output,
		"[masked]") {
		t.Errorf("told: %s; report: %s", w.told(1), got.String())
	}
}

func TestO6_OtherEndsAreUnverified(t *testing.T) {
	ended := newWorld(t, commands("true"), llmtest.Text("done"))
	if _, err := ended.session.Submit(t.Context(), "do it"); err != nil {
		t.Fatal(err)
	}
	want(t, ended.end(agent.ReasonMaxTurns), check.Unverified, "max_turns")
	want(t, ended.end(agent.ReasonCompleted), check.Unverified, "did not run") // nothing of an earlier input counts
}

func TestO6_InputsHaveRoundsOfTheirOwn(t *testing.T) {
	var steps []llmtest.Step
	for range 4 {
		steps = append(steps, llmtest.Text("done"))
	}
	w := newWorld(t, check.Options{Commands: []string{"false"}, Rounds: 1}, steps...)
	for range 2 {
		if got := w.submit("do it"); got.Rounds != 1 || got.Status != check.Failed {
			t.Errorf("the report is %+v", got)
		}
	}
}

func TestO6_TreesThatCannotBeRecordedVerifyNothing(t *testing.T) {
	o := commands("true")
	broken := errors.New("no store")
	o.Tree = func(context.Context) (checkpoint.Tree, error) { return checkpoint.Tree{}, broken }
	w := newWorld(t, o, llmtest.Text("done"))
	want(t, w.submit("do it"), check.Unverified, "no store")
	o.Tree = func(context.Context) (checkpoint.Tree, error) {
		return checkpoint.Tree{Root: "r", Left: checkpoint.Left{Unsteady: checkpoint.Names{Count: 1}}}, nil
	}
	w = newWorld(t, o, llmtest.Text("done"))
	want(t, w.submit("do it"), check.Unverified, "change the tree")
	var unsteady checkpoint.Names
	o.Tree = func(context.Context) (checkpoint.Tree, error) {
		return checkpoint.Tree{Root: "r", Left: checkpoint.Left{Unsteady: unsteady}}, nil
	}
	w = newWorld(t, o, llmtest.Text("done"))
	got := w.submit("do it")
	want(t, got, check.Verified, "")
	unsteady = checkpoint.Names{Count: 1, First: []string{"log"}}
	w.checks.Again(t.Context(), &got)
	want(t, got, check.Unverified, "were changing when the tree was compared with the one that was checked: [\"log\"]")
}

func TestO6_ResumedInTheMiddle(t *testing.T) {
	o := check.Options{Commands: []string{"false"}, Rounds: 2}
	w := newWorld(t, o, llmtest.Text("one"), shell("true"), llmtest.Text("two"), llmtest.Text("three"))
	w.giveAway.Store(true) // at the call behind the first round
	if _, err := w.session.Submit(t.Context(), "do it"); !errors.Is(err, agent.ErrReleased) {
		t.Fatal(err)
	}
	w.giveAway.Store(false)
	o.Resumed = new(check.Report)
	if err := json.Unmarshal(w.noted, o.Resumed); err != nil || o.Resumed.Rounds != 1 || o.Resumed.Final {
		t.Fatalf("the note is %s, %v", w.noted, err)
	}
	w.start(o)
	result, err := w.session.Continue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.end(result.Reason); got.Status != check.Failed || got.Rounds != 2 || len(w.model.Requests()) != 4 {
		t.Errorf("the report is %+v; %d requests", got, len(w.model.Requests()))
	}
}

func TestO6_AnotherBeforeStopIsAskedFirst(t *testing.T) {
	w := newWorld(t, check.Options{Commands: []string{"false"}, Rounds: 1})
	var asked []string
	next := func(_ context.Context, stop agent.Stop) (string, error) {
		asked = append(asked, fmt.Sprint(stop.Agent, stop.Confirms))
		return "the other one", nil
	}
	before := w.checks.BeforeStop(next, 2)
	var prompts []string
	for confirms := range 5 {
		prompt, err := before(t.Context(), agent.Stop{Session: "s", Confirms: confirms})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(prompt, "a check that the user has set") {
			prompt = "the check"
		}
		prompts = append(prompts, prompt)
		if prompt == "" {
			break
		}
	}
	if got := strings.Join(prompts, ","); got != "the other one,the other one,the check," || len(asked) != 2 {
		t.Errorf("sent back by %s; asked %v", got, asked)
	}
	if got := w.checks.MaxConfirms(2); got != 4 {
		t.Errorf("MaxConfirms is %d", got)
	}
	if prompt, err := before(t.Context(), agent.Stop{Session: "s", Agent: "sub", Confirms: 0}); err != nil ||
		prompt != "the other one" {
		t.Errorf("a subagent: %q, %v", prompt, err)
	}
	w.noted = nil
	if prompt, err := before(t.Context(), agent.Stop{Session: "s", Agent: "sub", Confirms: 2}); err != nil ||
		prompt != "" || w.noted != nil {
		t.Errorf("a subagent was checked: %q, %v", prompt, err)
	}
}

func TestO6_OptionsThatCannotWork(t *testing.T) {
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	good := check.Options{Commands: []string{"true"}, Env: e, Tree: func(context.Context) (checkpoint.Tree,
		error) {
		return checkpoint.Tree{}, nil
	},
		Note: func(context.Context, string, json.RawMessage, string) error { return nil }}
	if _, err := check.New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*check.Options){
		"no commands":        func(o *check.Options) { o.Commands = nil },
		"an empty one":       func(o *check.Options) { o.Commands = []string{"true", " "} },
		"no environment":     func(o *check.Options) { o.Env = nil },
		"a long timeout":     func(o *check.Options) { o.Timeout = time.Hour },
		"a negative timeout": func(o *check.Options) { o.Timeout = -1 },
	} {
		o := good
		spoil(&o)
		if _, err := check.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
