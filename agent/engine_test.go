package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

// engineTurns have calls with effects that run in parallel, a question, and a second task.
var engineTurns = []fakellm.Turn{
	{Thinking: "I think.", Text: "I begin.", Calls: []fakellm.Call{
		{Name: "shell", Args: json.RawMessage(`{"command":"echo a >> a.log"}`)},
		{Name: "write_file", Args: json.RawMessage(`{"file_path":"b.txt","content":"b\n"}`)},
		{Name: "read_file", Args: json.RawMessage(`{"file_path":"task.txt"}`)}}},
	{Calls: []fakellm.Call{{Name: "ask_user",
		Args: json.RawMessage(`{"question":"Shall I deploy?","options":["yes","no"]}`)}}},
	{Calls: []fakellm.Call{{Name: "shell", Args: json.RawMessage(`{"command":"echo deployed >> a.log"}`)}}},
	{Text: "The first is done."},
	{Calls: []fakellm.Call{{Name: "edit_file",
		Args: json.RawMessage(`{"file_path":"b.txt","old_string":"b","new_string":"c"}`)}}},
	{Text: "The second is done."},
}

const approval = "yes"

// place holds what outlives a process of a session: its directory, its journal, and the model.
type place struct {
	Work, Journal, URL string
	Retry              time.Duration
	Now                time.Time // at the start of the process; zero means the real time
}

func newPlace(t *testing.T, work string) (*place, *fakellm.Server) {
	t.Helper()
	if err := errors.Join(os.Mkdir(work, 0o755), os.WriteFile(filepath.Join(work, "task.txt"), []byte("do it\n"),
		0o644)); err != nil {
		t.Fatal(err)
	}
	server := fakellm.New(fakellm.Script(engineTurns...),
		fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return &place{Work: work, Journal: t.TempDir(), URL: web.URL}, server
}

// open starts the session of a place or resumes it.
func (p *place) open(t *testing.T, on func(agent.Event)) *agent.Session {
	t.Helper()
	ctx := context.Background()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: p.URL,
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(p.Work, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	o := agent.Options{ID: "session", Client: &llm.Client{Providers: []llm.Provider{provider}},
		Profile: claude.Profile(), Env: local, System: "You are being tested.",
		Questions: &agent.Questions{}, Retry: llm.RetryPolicy{Base: p.Retry, Jitter: func() float64 { return 0 }},
		OnEvent: on, OutputDir: t.TempDir()}
	if start := time.Now(); !p.Now.IsZero() {
		o.Now = func() time.Time { return p.Now.Add(time.Since(start)) }
	}
	begin := agent.Resume
	if o.Journal, err = journal.NewDir(p.Journal).Create(ctx, o.ID); err == nil {
		begin = agent.New
	} else if o.Journal, err = journal.NewDir(p.Journal).Open(ctx, o.ID); err != nil {
		t.Fatal(err)
	}
	s, err := begin(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// turns returns the history from the journal, without the times.
func (p *place) turns(t *testing.T) []agent.Turn {
	t.Helper()
	log, err := journal.NewDir(p.Journal).Read(context.Background(), "session")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
		t.Errorf("replay: %v", err)
	}
	turns := slices.Clone(state.Turns)
	for i := range turns {
		turns[i].Time = time.Time{}
	}
	return turns
}

// job describes what a process does with a session, and how it ends.
type job struct {
	place
	Do, Text string
	Killed   bool // the process ends by SIGKILL instead of Release
}

// done is the outcome of a job.
type done struct {
	Act    agent.Act
	Until  time.Time
	Result *agent.Result
}

const engineJob = "ATTRACTOR_TEST_ENGINE_JOB"

// TestJ2_EngineProcess is the main function of a process of another engine.
func TestJ2_EngineProcess(t *testing.T) {
	given := os.Getenv(engineJob)
	if given == "" {
		t.Skip("it is run by TestJ2_AnotherEngine as a process of its own")
	}
	var j job
	if err := json.Unmarshal([]byte(given), &j); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s := j.open(t, nil)
	var step agent.Step
	var err error
	switch j.Do {
	case "begin":
		err = s.Begin(ctx, j.Text)
	case "steer":
		err = s.Steer(ctx, j.Text)
	case "follow up":
		err = s.FollowUp(ctx, j.Text)
	default:
		step, err = s.Advance(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(done{step.Act, step.Until, s.Result()})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\ndone %s\n", out)
	if j.Killed {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		t.Fatal(err)
	}
	if err := s.Release(ctx); err != nil {
		t.Fatal(err)
	}
}

// run does a job in a new process.
func (j job) run(t *testing.T) done {
	t.Helper()
	given, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestJ2_EngineProcess$", "-test.v", "-test.count=1")
	// a killed process leaves its files there
	cmd.Env = append(os.Environ(), engineJob+"="+string(given), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if (err != nil) != j.Killed {
		t.Fatalf("%s: %v\n%s", j.Do, err, out)
	}
	for line := range bytes.Lines(out) {
		if text, ok := bytes.CutPrefix(line, []byte("done ")); ok {
			var d done
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatalf("%s: %s", j.Do, out)
	return done{}
}

// Another engine takes each step in a new process, and some are killed after it. The outcome is the
// same as with Submit: the same requests, byte for byte, the same history, and each effect once.
func TestJ2_AnotherEngine(t *testing.T) {
	work := filepath.Join(t.TempDir(), "work")
	want, server := newPlace(t, work)
	want.Retry = time.Millisecond
	submitted := submitAll(t, want)
	effects := readTree(t, work)
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}

	got, another := newPlace(t, work)
	got.Retry, got.Now = 30*time.Second, time.Now().Add(time.Hour)
	result, acts := driveAll(t, got)
	wantActs := "call_model run_calls inject call_model wait call_model run_calls end_input rest " +
		"call_model run_calls call_model end_input begin_input call_model run_calls call_model end_input rest"
	if acts != wantActs {
		t.Errorf("the steps were\n%s, want\n%s", acts, wantActs)
	}
	bodies := func(s *fakellm.Server) []string {
		var texts []string
		for _, r := range s.Requests() {
			texts = append(texts, string(r.Body))
		}
		return texts
	}
	if diff := gocmp.Diff(bodies(server), bodies(another)); diff != "" {
		t.Errorf("requests, -submit +engine:\n%s", diff)
	}
	if diff := gocmp.Diff(want.turns(t), got.turns(t)); diff != "" {
		t.Errorf("history, -submit +engine:\n%s", diff)
	}
	if diff := gocmp.Diff(effects, readTree(t, work)); diff != "" || effects["a.log"] != "a\ndeployed\n" ||
		effects["b.txt"] != "c\n" {
		t.Errorf("effects %v, -submit +engine:\n%s", effects, diff)
	}
	if result == nil || result.Text != submitted.Text || result.Reason != agent.ReasonCompleted {
		t.Errorf("the result is %+v, want %+v", result, submitted)
	}
}

// submitAll runs the session in this process.
func submitAll(t *testing.T, p *place) *agent.Result {
	t.Helper()
	ctx := context.Background()
	var s *agent.Session
	steered := false
	s = p.open(t, func(ev agent.Event) {
		if _, ended := ev.(*agent.ToolCallEnd); ended && !steered {
			steered = true
			if err := s.Steer(ctx, steering); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.FollowUp(ctx, secondTask); err != nil {
		t.Fatal(err)
	}
	var result *agent.Result
	for _, text := range []string{firstTask, approval} {
		var err error
		if result, err = s.Submit(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return result
}

// driveAll runs it with a new process for each step and for each message of the host.
func driveAll(t *testing.T, p *place) (*agent.Result, string) {
	t.Helper()
	var acts []string
	job{*p, "follow up", secondTask, false}.run(t)
	job{*p, "begin", firstTask, false}.run(t)
	for answered := false; ; {
		p.Now = p.Now.Add(time.Second)
		d := job{*p, "advance", "", len(acts)%2 == 1}.run(t)
		acts = append(acts, string(d.Act))
		switch {
		case d.Act == agent.ActWait:
			p.Now = d.Until
		case d.Act == agent.ActRunCalls && len(acts) == 2:
			job{*p, "steer", steering, false}.run(t)
		case d.Act == agent.ActRest && !answered:
			if d.Result == nil || d.Result.Reason != agent.ReasonAwaitingInput {
				t.Fatalf("at rest with %+v", d.Result)
			}
			answered = true
			job{*p, "begin", approval, true}.run(t)
		case d.Act == agent.ActRest:
			return d.Result, strings.Join(acts, " ")
		case len(acts) > 30:
			t.Fatal(acts)
		}
	}
}
