package web_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool/coding"
)

// story runs a session with everything that a timeline can have, in two processes, of which the
// first one is killed. It returns the journal.
func (w *workshop) story() journal.Reader {
	w.Helper()
	model := w.storyModel()
	log, err := w.store.Create(w.Context(), "story")
	if err != nil {
		w.Fatal(err)
	}
	s, err := agent.New(w.Context(), w.storyOptions(log, model))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() }) // a test that has failed before
	if err := s.Steer(w.Context(), "Mind the tests."); err != nil {
		w.Fatal(err)
	}
	w.ends(s, "Repair the greeting.\nIt has to name the world.", agent.ReasonCompleted)
	w.ends(s, "Which colour?", agent.ReasonAwaitingInput)
	w.ends(s, "red", agent.ReasonCompleted)
	if err := s.Compact(w.Context()); err != nil {
		w.Fatal(err)
	}
	policy := s.Policy()
	policy.MaxToolRounds = 1
	if err := s.Set(w.Context(), agent.Settings{Policy: &policy}); err != nil {
		w.Fatal(err)
	}
	w.ends(s, "Go on for ever.", agent.ReasonMaxToolRounds)
	if _, err := s.Submit(w.Context(), "Fail."); !errors.Is(err, llm.ErrAuthentication) {
		w.Fatalf("Submit = %v", err)
	}
	if err := s.Close(); err != nil {
		w.Fatal(err)
	}
	w.cutOff(model)
	again := w.resumed(model)
	if _, err := again.Continue(w.Context()); err != nil {
		w.Fatal(err)
	}
	if err := again.Close(); err != nil {
		w.Fatal(err)
	}
	read, err := w.store.Read(w.Context(), "story")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := read.Close(); err != nil {
			w.Error(err)
		}
	})
	return read
}

// cutOff goes on with the story in a process that ends in the middle of a command, as if it were
// killed.
func (w *workshop) cutOff(model llm.Provider) {
	w.Helper()
	s := w.resumed(model)
	policy := s.Policy()
	policy.MaxToolRounds = 0
	if err := s.Set(w.Context(), agent.Settings{Policy: &policy}); err != nil {
		w.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { _, err := s.Submit(w.Context(), "Say goodbye."); over <- err }()
	<-w.asleep
	ctx, cancel := context.WithCancel(w.Context())
	cancel() // at once
	if err := s.Release(ctx); err != nil {
		w.Fatal(err)
	}
	if err := <-over; !errors.Is(err, agent.ErrReleased) {
		w.Fatalf("Submit = %v", err)
	}
}

// resumed returns the story's session in another process.
func (w *workshop) resumed(model llm.Provider) *agent.Session {
	w.Helper()
	log, err := w.store.Open(w.Context(), "story")
	if err != nil {
		w.Fatal(err)
	}
	s, err := agent.Resume(w.Context(), w.storyOptions(log, model))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() }) // a test that has failed before
	return s
}

// ends has a session work on an input that ends for a reason.
func (w *workshop) ends(s *agent.Session, text string, reason agent.Reason) {
	w.Helper()
	if result, err := s.Submit(w.Context(), text); err != nil || result.Reason != reason {
		w.Fatalf("%q ended with %+v, %v", text, result, err)
	}
}

// storyPrices returns what is known of the model of the story.
func storyPrices(string, string) (llm.Model, bool) {
	return llm.Model{Window: 4000, MaxOutput: 1000, Prices: []llm.Price{{Input: 3, CacheRead: 0.3, Output: 15}}}, true
}

func (w *workshop) storyOptions(log journal.Log, model llm.Provider) agent.Options {
	tools := append(coding.Agents(), coding.Shell(time.Minute), coding.ReadFile(), coding.EditFile(),
		coding.WriteFile(), coding.UpdatePlan(), coding.AskUser())
	return agent.Options{ID: "story", Journal: log, System: "You greet.", Env: w.local,
		Limits: agent.Limits{KeepOutputs: 64 << 20, Diffs: 64 << 10}, OutputDir: w.TempDir(),
		Client: &llm.Client{Providers: []llm.Provider{model}, Models: storyPrices},
		Retry:  llm.RetryPolicy{Base: time.Millisecond}, Questions: &agent.Questions{},
		Subagents: &agent.Subagents{Journal: w.store.Create},
		Policy:    agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}},
		Profile:   profile.Profile{Name: "test", Provider: "test", Model: "m", Tools: tools}}
}

// storyModel is the model of the story and of its subagent.
func (w *workshop) storyModel() llm.Provider {
	call := func(name string, args map[string]any) llm.ToolCall { return llmtest.Call(name, args) }
	answer := func(parts ...llm.Part) llmtest.Step {
		return llmtest.Respond(llm.Response{Usage: llm.Usage{Input: 1000, CacheRead: 600, CacheWrite: 200, Output: 100},
			Message: llm.Message{Parts: parts}})
	}
	steps := []llmtest.Step{
		llmtest.Torn("I will lo", llm.Errorf(llm.ErrServer, "overloaded")),
		answer(llm.Thinking{Text: "First a plan.\nThen the file."}, llm.Text{Text: "I begin with the greeting."},
			call("update_plan", map[string]any{"plan": []any{map[string]any{"step": "Look", "status": "completed"},
				map[string]any{"step": "Mend it", "status": "in_progress"}}})),
		answer(call("write_file", map[string]any{"file_path": "greet.sh", "content": "echo hello\nexit 1\n"}),
			call("shell", map[string]any{"command": "sh greet.sh"})),
		answer(call("read_file", map[string]any{"file_path": "greet.sh"})),
		answer(call("edit_file", map[string]any{"file_path": "greet.sh", "old_string": "echo hello\nexit 1",
			"new_string": "echo hello world"})),
		answer(call("spawn_agent", map[string]any{"task": "Look at it."})),
		answer(call("wait", map[string]any{"agent_id": "agent-1"})),
		answer(call("shell", map[string]any{"command": "sh greet.sh"})),
		answer(llm.Text{Text: "It greets the world now.\n\nThe agent has looked at it."}),
		answer(call("ask_user", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}})),
		answer(llm.Text{Text: "Red it is."}),
		answer(llm.Text{Text: "A summary."}),
		answer(call("shell", map[string]any{"command": "true"})),
		llmtest.Error(llm.Errorf(llm.ErrAuthentication, "the key is not valid")),
		llmtest.Func(func(ctx context.Context, _ *llm.Request) llmtest.Step {
			close(w.asleep)
			return llmtest.Hang()
		}),
		answer(llm.Text{Text: "Goodbye."}),
	}
	w.asleep = make(chan struct{})
	var mu sync.Mutex
	next := 0
	return llmtest.NewProvider("test", append(make([]llmtest.Step, 0, 40),
		repeat(llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
			task := slices.IndexFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.RoleUser })
			if req.Messages[task].Parts.Text() == "Look at it." {
				return answer(llm.Text{Text: "It looks good."})
			}
			mu.Lock()
			defer mu.Unlock()
			next++
			return steps[next-1]
		}), 40)...)...)
}

func repeat(step llmtest.Step, n int) []llmtest.Step {
	all := make([]llmtest.Step, n)
	for i := range all {
		all[i] = step
	}
	return all
}
