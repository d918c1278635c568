package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// secret is the text that a guard looks for; errSecret is its error.
const secret = "sk-4711"

var errSecret = errors.New("this has a key in it: keep it in the environment, and name the variable")

// guarded is a BeforeInput that refuses secrets.
func guarded(_ context.Context, m agent.Message) (agent.Message, error) {
	texts := append([]llm.Part{llm.Text{Text: m.Text}}, m.Parts...)
	if strings.Contains(llm.Parts(texts).Text(), secret) {
		return m, errSecret
	}
	return m, nil
}

// A guard keeps a secret out of a session, whatever method is used. The method returns the reason,
// no record or event has the secret, and the session is unchanged.
func TestJ14_BeforeInputRefuses(t *testing.T) {
	log := new(journal.Memory)
	var h *host
	steer := newTool("work", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		if err := h.Steer(ctx, "and "+secret); !errors.Is(err, errSecret) {
			t.Errorf("Steer: %v", err)
		}
		return tool.Text("ok"), h.Steer(ctx, "hurry")
	})
	h = open(t, setup{tools: []tool.Tool{steer, coding.AskUser()}, options: agent.Options{Journal: log,
		Hooks: agent.Hooks{BeforeInput: guarded}, Questions: &agent.Questions{}},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Calls(ask("which?")), llmtest.Text("done"),
			llmtest.Text("more")}})
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, errSecret) || !strings.HasPrefix(err.Error(),
			"agent: the message was refused: this has a key") {
			t.Errorf("%s: %v", what, err)
		}
	}
	submit := func(text string, more ...llm.Part) error {
		result, err := h.Submit(t.Context(), text, agent.Attach(more...))
		if result == nil || result.Reason != "" {
			t.Errorf("%+v", result)
		}
		return err
	}
	refused("Submit", submit("use "+secret))
	refused("Submit of a part", submit("see", llm.Text{Text: secret}))
	refused("FollowUp", h.FollowUp(t.Context(), secret))
	refused("Begin", h.Begin(t.Context(), secret))
	if len(all(t, log)) != 1 && len(all(t, log)) != 0 || h.Status() != agent.StatusIdle ||
		h.kinds() != "SESSION_START" {
		t.Errorf("%d records, %s, events %s", len(all(t, log)), h.Status(), h.kinds())
	}
	h.submit(t, "go", agent.ReasonAwaitingInput)
	refused("the answer by Submit", submit(secret))
	refused("the answer by Answer", h.Answer(t.Context(), tool.Answer{Text: secret}))
	if h.Status() != agent.StatusAwaiting {
		t.Errorf("after answers that were refused it is %s", h.Status())
	}
	h.submit(t, "that one", agent.ReasonCompleted)
	if want := "user:user assistant:model tool_results:tools steering:steer assistant:model tool_results:tools " +
		"assistant:model"; h.turns() != want {
		t.Errorf("turns %s, want %s", h.turns(), want)
	}
	for _, r := range all(t, log) {
		if strings.Contains(string(r.Data), secret) {
			t.Errorf("a %s record has the secret: %s", r.Kind, r.Data)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
}

// masking returns a BeforeInput that masks the secret and tells the model so.
func masking(asked *[]string) func(context.Context, agent.Message) (agent.Message, error) {
	return func(_ context.Context, m agent.Message) (agent.Message, error) {
		*asked = append(*asked, fmt.Sprintf("%s %q %s", m.Kind, m.Question, m.Text))
		if strings.Contains(m.Text, secret) {
			m.Text = strings.ReplaceAll(m.Text, secret, "[masked]")
			m.Context = "A key was masked in: " + m.Text
		}
		return m, nil
	}
}

// The message that the hook returns is recorded, with its context after it. A resumed session has
// both, also for queued messages, and does not call the hook again.
func TestJ14_BeforeInputChanges(t *testing.T) {
	var asked []string
	log := new(journal.Memory)
	var h *host
	work := newTool("work", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		return tool.Text("ok"), h.Steer(ctx, "steer "+secret)
	})
	s := setup{tools: []tool.Tool{work, coding.AskUser()}, options: agent.Options{Journal: log,
		Hooks: agent.Hooks{BeforeInput: masking(&asked)}, Questions: &agent.Questions{}},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Calls(ask("which?")), llmtest.Text("done"),
			llmtest.Text("later")}}
	h = open(t, s)
	if err := h.FollowUp(t.Context(), "later "+secret, agent.Key("k")); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go "+secret, agent.ReasonAwaitingInput)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	log = journal.NewMemory(all(t, log)...)
	s.options.Journal, s.steps = log, s.steps[2:]
	h = open(t, s)
	if err := h.FollowUp(t.Context(), "later "+secret, agent.Key("k")); err != nil { // it has arrived already
		t.Fatal(err)
	}
	h.submit(t, "answer "+secret, agent.ReasonCompleted)
	want := []string{`follow_up "" later ` + secret, `task "" go ` + secret, `steering "" steer ` + secret,
		`answer "which?" answer ` + secret}
	if !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	var texts []string
	for _, turn := range h.History() {
		texts = append(texts, fmt.Sprintf("%s %s", turn.Kind,
			strings.ReplaceAll(turn.Message.Parts.Text(), "A key was masked in: ", "-> ")))
	}
	wantTexts := []string{"user go [masked]", "steering -> go [masked]", "assistant ", "tool_results ",
		"steering steer [masked]", "steering -> steer [masked]",
		"assistant ", "tool_results ", "steering -> answer [masked]", "assistant done", "user later [masked]",
		"steering -> later [masked]", "assistant later"}
	if !slices.Equal(texts, wantTexts) {
		t.Errorf("turns\n%s, want\n%s", strings.Join(texts, "\n"), strings.Join(wantTexts, "\n"))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all(t, log) {
		if strings.Contains(string(r.Data), secret) {
			t.Errorf("a %s record has the secret: %s", r.Kind, r.Data)
		}
	}
	if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// An input that is only begun is checked once, however often it is sent.
func TestJ14_BeforeInputWithBegin(t *testing.T) {
	var asked []string
	h := open(t, setup{options: agent.Options{Hooks: agent.Hooks{BeforeInput: masking(&asked)}},
		steps: []llmtest.Step{llmtest.Text("done")}})
	for range 2 {
		if err := h.Begin(t.Context(), "go "+secret, agent.Key("k")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Begin(t.Context(), "go "+secret, agent.Key("k")); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || h.turns() != "user:user steering:note assistant:model" ||
		h.History()[0].Message.Parts.Text() != "go [masked]" {
		t.Errorf("asked about %q, turns %s", asked, h.turns())
	}
}

// The context is in the record of its message: a crash right after the record loses neither.
func TestJ14_BeforeInputSurvivesACrash(t *testing.T) {
	var asked []string
	log := new(journal.Memory)
	s := setup{options: agent.Options{Journal: log, Hooks: agent.Hooks{BeforeInput: masking(&asked)}},
		steps: []llmtest.Step{llmtest.Text("done")}}
	h := open(t, s)
	h.submit(t, "go "+secret, agent.ReasonCompleted)
	records := all(t, log)
	input := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "input" })
	s.options.Journal = journal.NewMemory(records[:input+1]...)
	rest := open(t, s)
	if _, err := rest.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := rest.model.Requests()[0]
	checkSameRequest(t, h.model.Requests()[0], sent)
	if last := sent.Messages[len(sent.Messages)-1].Parts.Text(); len(asked) != 1 ||
		last != "A key was masked in: go [masked]" {
		t.Errorf("asked about %q, sent %s", asked, last)
	}
}

// If the hook fails, the message is refused.
func TestJ14_BeforeInputFails(t *testing.T) {
	for name, c := range map[string]struct {
		hook func(m agent.Message) agent.Message
		want string
	}{
		"nothing left": {func(agent.Message) agent.Message { return agent.Message{} },
			"left nothing of the message"},
		"too much context": {func(m agent.Message) agent.Message {
			m.Context = strings.Repeat("x", 64<<10+1)
			return m
		}, "it can have 65536"},
		"a part that is none": {func(m agent.Message) agent.Message {
			m.Parts = append(m.Parts, llm.Thinking{Text: "x"})
			return m
		}, "llm.Thinking"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := true
			h := open(t, setup{steps: []llmtest.Step{llmtest.Text("done")}, options: agent.Options{
				Hooks: agent.Hooks{BeforeInput: func(_ context.Context, m agent.Message) (agent.Message, error) {
					if broken {
						return c.hook(m), nil
					}
					return m, nil
				}}}})
			if _, err := h.Submit(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Submit: %v, want %q in it", err, c.want)
			}
			if h.History() != nil || h.Status() != agent.StatusIdle {
				t.Errorf("turns %s, %s", h.turns(), h.Status())
			}
			broken = false
			h.submit(t, "go", agent.ReasonCompleted)
		})
	}
}

// A hook that waits blocks only its caller, who can give up. A hook that ignores that is abandoned,
// and its answer does not count.
func TestJ14_BeforeInputWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}, options: agent.Options{
			Hooks: agent.Hooks{BeforeInput: func(ctx context.Context, m agent.Message) (agent.Message, error) {
				switch m.Text {
				case "patient":
					<-ctx.Done()
					return m, ctx.Err()
				case "deaf":
					<-gate
				}
				return m, nil
			}}}})
		for text, want := range map[string]error{"patient": context.DeadlineExceeded, "deaf": agent.ErrStuck} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if _, err := h.Submit(ctx, text); !errors.Is(err, want) || strings.Contains(err.Error(), "refused") ||
				time.Since(began) > 4*time.Second {
				t.Errorf("Submit(%q) after %v: %v", text, time.Since(began), err)
			}
			if err := h.Steer(ctx, text); !errors.Is(err, want) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Steer(%q): %v", text, err)
			}
			cancel()
		}
		h.submit(t, "go", agent.ReasonCompleted)
		close(gate)
		synctest.Wait()
		h.submit(t, "go on", agent.ReasonCompleted)
		if h.turns() != "user:user assistant:model user:user assistant:model" {
			t.Errorf("turns %s", h.turns())
		}
	})
}

// A broken hook ends the session, like other host code.
func TestJ14_BeforeInputPanics(t *testing.T) {
	h := open(t, setup{fails: true, options: agent.Options{Journal: new(journal.Memory),
		Hooks: agent.Hooks{BeforeInput: func(context.Context, agent.Message) (agent.Message,
			error) {
			panic("boom")
		}}}})
	_, err := h.Submit(t.Context(), "go")
	var broken *agent.HostError
	if !errors.As(err, &broken) || broken.What != "BeforeInput" || h.Status() != agent.StatusClosed ||
		h.History() != nil {
		t.Errorf("%v, %s, %s", err, h.Status(), h.turns())
	}
}

// Messages of an agent to its subagents do not pass BeforeInput.
func TestJ14_BeforeInputNotForSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		h := openSpawning(t, agent.Options{Hooks: agent.Hooks{BeforeInput: masking(&asked)}}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("a part")), llmtest.Calls(wait("agent-1")),
				llmtest.Calls(send("agent-1", "more")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"a part": {llmtest.Text("part done"), llmtest.Text("more done")},
		})
		h.submit(t, "go", agent.ReasonCompleted)
		if !slices.Equal(asked, []string{`task "" go`}) {
			t.Errorf("asked about %q", asked)
		}
	})
}

// A hook that breaks during another input ends the session after that input.
func TestJ14_BrokenHookDuringAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := make(chan struct{})
		ended := make(chan struct{})
		work := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // cleaning up
			close(ended)
			return tool.Text("ok"), nil
		})
		h := open(t, setup{fails: true, tools: []tool.Tool{work}, steps: []llmtest.Step{llmtest.Calls(call("work"))},
			options: agent.Options{Journal: new(journal.Memory),
				Hooks: agent.Hooks{BeforeInput: func(_ context.Context, m agent.Message) (agent.Message, error) {
					if m.Text == "second" {
						<-broken
						panic("broken")
					}
					return m, nil
				}}}})
		go func() { _, _ = h.Submit(context.Background(), "second") }()
		synctest.Wait()
		go func() { _, _ = h.Submit(context.Background(), "first") }()
		synctest.Wait()
		close(broken)
		_ = h.Close()
		select {
		case <-ended:
		default:
			t.Error("a tool runs although the session is closed")
		}
	})
}
