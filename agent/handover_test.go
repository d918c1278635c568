package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// slowLog is a journal that takes a minute, once, to append a record of one kind.
type slowLog struct {
	journal.Memory
	kind string
	slow atomic.Int32
}

func (l *slowLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if slices.ContainsFunc(records, func(r journal.Record) bool { return r.Kind == l.kind }) && l.slow.Add(1) == 1 {
		time.Sleep(time.Minute)
	}
	return l.Memory.Append(ctx, next, records...)
}

// checkDuration fails the test unless f takes between least and least plus a tenth of a second.
func checkDuration(t *testing.T, what string, least time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took < least || took > least+100*time.Millisecond {
		t.Errorf("%s took %v, want %v", what, took, least)
	}
}

// While a journal hangs, methods without a journal work, methods with one obey their context, and
// messages arrive once.
func TestJ7_HangingJournalAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{options: agent.Options{Journal: &slowLog{kind: "queued"}},
			steps: []llmtest.Step{llmtest.Text("done")}})
		steer := func(limit time.Duration) error {
			ctx, stop := context.WithTimeout(context.Background(), limit)
			defer stop()
			return h.Steer(ctx, "go left", agent.Key("k"))
		}
		checkDuration(t, "Steer", time.Second, func() {
			if err := steer(time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Steer = %v", err)
			}
		})
		checkDuration(t, "reading", 0, func() {
			h.Interrupt()
			if h.Status() != agent.StatusIdle || len(h.History()) != 0 || h.Usage() != (llm.Usage{}) ||
				len(h.Definitions()) != 0 {
				t.Error("the session is not as it was")
			}
		})
		checkDuration(t, "another Steer", time.Second, func() {
			if err := steer(time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Steer = %v", err)
			}
		})
		checkDuration(t, "Steer when the journal is back", 58*time.Second, func() {
			if err := steer(time.Hour); err != nil {
				t.Errorf("Steer = %v", err)
			}
		})
		h.submit(t, "go", agent.ReasonCompleted)
		var heard []string
		for _, m := range h.model.Requests()[0].Messages[1:] {
			heard = append(heard, m.Parts.Text())
		}
		if got := strings.Join(heard, ", "); got != "go, go left" {
			t.Errorf("the model heard %q", got)
		}
	})
}

// A step whose journal hangs can be interrupted and closed, each within its bound.
func TestJ7_HangingJournalInAStep(t *testing.T) {
	const bound = 20 * time.Second // ten times the grace time
	for _, kind := range []string{"answer", "intent", "result", "end"} {
		for name, stop := range map[string]func(*host){"interrupt": func(h *host) { h.Interrupt() },
			"close": func(h *host) { _ = h.Close() }} {
			t.Run(kind+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := open(t, setup{options: agent.Options{Journal: &slowLog{kind: kind}},
						tools: []tool.Tool{echo("work")}, fails: true,
						steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done")}})
					ended := make(chan error)
					go func() { ended <- second(h.Submit(context.Background(), "go")) }()
					time.Sleep(time.Second) // the journal hangs
					checkDuration(t, "Status", 0, func() {
						if h.Status() != agent.StatusProcessing {
							t.Errorf("the session is %s", h.Status())
						}
					})
					checkDuration(t, "Steer", time.Second, func() {
						ctx, cancel := context.WithTimeout(context.Background(), time.Second)
						defer cancel()
						if err := h.Steer(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("Steer = %v", err)
						}
					})
					checkDuration(t, name, bound, func() {
						stop(h)
						if err := <-ended; !errors.Is(err, agent.ErrStuck) {
							t.Errorf("Submit = %v", err)
						}
					})
					checkDuration(t, "Close", 0, func() {
						if err := h.Close(); !errors.Is(err, agent.ErrStuck) {
							t.Errorf("Close = %v", err)
						}
					})
					time.Sleep(time.Hour) // the journal is back, with no further effect
				})
			})
		}
	}
}

// fencedLog is a journal that another writer takes over at a record.
type fencedLog struct {
	journal.Memory
	from   atomic.Int64
	closed atomic.Bool
}

func fencedFrom(n int64) *fencedLog {
	l := new(fencedLog)
	l.from.Store(n)
	return l
}

func (l *fencedLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if next >= l.from.Load() {
		return fmt.Errorf("%w: fenced", journal.ErrConflict)
	}
	return l.Memory.Append(ctx, next, records...)
}

func (l *fencedLog) Close() error { l.closed.Store(true); return nil }

// endEvents returns the events that report an end.
func endEvents(events []agent.Event) string {
	var kinds []string
	for _, ev := range events {
		switch ev.(type) {
		case *agent.Error, *agent.ProcessingEnd, *agent.SessionEnd, *agent.Warning:
			kinds = append(kinds, fmt.Sprintf("%T", ev))
		}
	}
	return strings.Join(kinds, " ")
}

// A session whose journal was taken over ends silently, since it continues elsewhere.
func TestJ7_TakenOver(t *testing.T) {
	for from := int64(2); from <= 7; from++ { // input, answer, intent, result, answer, end
		t.Run(fmt.Sprint("from record ", from), func(t *testing.T) {
			log := fencedFrom(from)
			h := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{echo("work")}, silent: true,
				steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done")}})
			told := make(chan []agent.Event)
			go func() { told <- slices.Collect(h.Events(context.Background())) }()
			result, err := h.Submit(context.Background(), "go")
			if !errors.Is(err, agent.ErrTakenOver) || !errors.Is(err, journal.ErrConflict) || result == nil {
				t.Errorf("Submit = %v, %v", result, err)
			}
			if err := h.Close(); !errors.Is(err, agent.ErrTakenOver) {
				t.Errorf("Close = %v", err)
			}
			if events := <-told; len(events) == 0 || endEvents(events) != "" || endEvents(h.events) != "" {
				t.Errorf("events claim %q, %q", endEvents(events), endEvents(h.events))
			}
			if !log.closed.Load() || h.Status() != agent.StatusClosed || log.Len() != from-1 {
				t.Errorf("closed %v, %s, %d records", log.closed.Load(), h.Status(), log.Len())
			}
			if err := h.Steer(context.Background(), "x"); !errors.Is(err, agent.ErrClosed) ||
				!errors.Is(err, agent.ErrTakenOver) {
				t.Errorf("Steer = %v", err)
			}
		})
	}
}

// A session that is released during a step finishes the step, and continues in another process to
// the same end.
func TestJ7_ReleaseAfterTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, begun, over := new(journal.Memory), make(chan struct{}), make(chan struct{})
		ran := 0
		work := tool.New(llm.ToolDefinition{Name: "work", Description: "Works."}, func(context.Context, *tool.Call,
			struct{}) (tool.Result, error) {
			ran++
			close(begun)
			<-over
			return tool.Text("worked"), nil
		})
		h := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work}, silent: true,
			steps: []llmtest.Step{llmtest.Calls(call("work"))}})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		<-begun
		released := make(chan error, 1)
		go func() { released <- h.Release(context.Background()) }()
		synctest.Wait()
		close(over)
		if err := <-released; err != nil {
			t.Errorf("Release = %v", err)
		}
		if err := <-ended; !errors.Is(err, agent.ErrReleased) {
			t.Errorf("Submit = %v", err)
		}
		if c := endEvents(h.events); c != "" {
			t.Errorf("events claim %s", c)
		}
		if err := h.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		rest := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work},
			steps: []llmtest.Step{llmtest.Text("done")}})
		if result, err := rest.Continue(context.Background()); err != nil || result.Text != "done" || ran != 1 {
			t.Errorf("%+v, %v; the tool ran %d times", result, err, ran)
		}
		if texts := resultTexts(rest.History()); texts != "worked" {
			t.Errorf("results %q", texts)
		}
	})
}

// resultTexts returns the texts of the calls' results, in order.
func resultTexts(turns []agent.Turn) string {
	var texts []string
	for _, turn := range turns {
		for _, part := range turn.Message.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				texts = append(texts, r.Content.Text())
			}
		}
	}
	return strings.Join(texts, "; ")
}

// If Release has no time for the step, the step ends as after a kill: the outcome of a begun call
// is unknown.
func TestJ7_ReleaseCutsTheStep(t *testing.T) {
	log, begun := new(journal.Memory), make(chan struct{})
	work := tool.New(llm.ToolDefinition{Name: "work", Description: "Works."}, func(ctx context.Context, _ *tool.Call,
		_ struct{}) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		return tool.Text("interrupted"), nil
	})
	h := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work}, silent: true,
		steps: []llmtest.Step{llmtest.Calls(call("work"))}})
	ended := make(chan error, 1)
	go func() { ended <- second(h.Submit(context.Background(), "go")) }()
	<-begun
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Release(now); err != nil {
		t.Errorf("Release = %v", err)
	}
	if err := <-ended; !errors.Is(err, agent.ErrReleased) {
		t.Errorf("Submit = %v", err)
	}
	if c := endEvents(h.events); c != "" {
		t.Errorf("events claim %s", c)
	}
	rest := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work},
		steps: []llmtest.Step{llmtest.Text("done")}})
	if result, err := rest.Continue(context.Background()); err != nil || result.Text != "done" {
		t.Errorf("%+v, %v", result, err)
	}
	if texts := resultTexts(rest.History()); !strings.Contains(texts, "outcome is unknown") {
		t.Errorf("results %q", texts)
	}
}

// A session that is released at rest is at rest elsewhere.
func TestJ7_ReleaseAtRest(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log}, silent: true, steps: []llmtest.Step{llmtest.Text("one")}})
	h.submit(t, "go", agent.ReasonCompleted)
	before := log.Len()
	if err := h.Release(context.Background()); err != nil || log.Len() != before {
		t.Errorf("Release = %v, %d records more", err, log.Len()-before)
	}
	if _, err := h.Submit(context.Background(), "more"); !errors.Is(err, agent.ErrClosed) ||
		!errors.Is(err, agent.ErrReleased) {
		t.Errorf("Submit = %v", err)
	}
	rest := open(t, setup{options: agent.Options{Journal: log}, steps: []llmtest.Step{llmtest.Text("two")}})
	rest.submit(t, "more", agent.ReasonCompleted)
}

// A message with a key is accepted once, also by a resumed session.
func TestJ7_KeysAreTakenOnce(t *testing.T) {
	ctx, log := context.Background(), new(journal.Memory)
	send := func(h *host) {
		for range 2 {
			if err := errors.Join(h.Steer(ctx, "left", agent.Key("a")),
				h.FollowUp(ctx, "and then", agent.Key("b"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := open(t, setup{options: agent.Options{Journal: log}, silent: true})
	send(h)
	if err := h.Release(ctx); err != nil {
		t.Fatal(err)
	}
	h = open(t, setup{options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}})
	send(h)
	h.submit(t, "go", agent.ReasonCompleted)
	send(h)
	var texts []string
	for _, turn := range h.History() {
		texts = append(texts, turn.Message.Parts.Text())
	}
	if got := strings.Join(texts, ", "); got != "go, left, one, and then, two" {
		t.Errorf("history %s", got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Replay(ctx, log, agent.ReplayOptions{}); err != nil {
		t.Errorf("replay: %v", err)
	}
}

// Attachments of steering and follow-ups reach the model with their text.
func TestJ7_Attachments(t *testing.T) {
	ctx := context.Background()
	image := llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)}
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}})
	if err := errors.Join(h.Steer(ctx, "look", agent.Attach(image)),
		h.FollowUp(ctx, "and here", agent.Attach(image))); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
	for _, text := range []string{"look", "and here"} {
		with := slices.ContainsFunc(h.History(), func(turn agent.Turn) bool {
			return turn.Message.Parts.Text() == text && len(turn.Message.Parts) == 2
		})
		if !with {
			t.Errorf("%q has no image", text)
		}
	}
	if err := h.Steer(ctx, "x", agent.Attach(llm.ToolResult{})); err == nil || !strings.Contains(err.Error(),
		"llm.ToolResult") {
		t.Errorf("a part that is no attachment: %v", err)
	}
}

// Session.Answer gives an answer once, without continuing.
func TestJ7_AnswerOnce(t *testing.T) {
	ctx := context.Background()
	h := open(t, setup{tools: []tool.Tool{coding.AskUser()}, options: agent.Options{Questions: &agent.Questions{}},
		steps: []llmtest.Step{llmtest.Calls(llmtest.Call("ask_user", `{"question":"Which?"}`)),
			llmtest.Text("thanks")}})
	h.submit(t, "go", agent.ReasonAwaitingInput)
	for range 2 {
		if err := h.Answer(ctx, tool.Answer{Text: "blue"}, agent.Key("k")); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Answer(ctx, tool.Answer{Text: "red"}); err == nil {
		t.Error("there was nothing to answer")
	}
	if result, err := h.Continue(ctx); err != nil || result.Text != "thanks" {
		t.Errorf("%+v, %v", result, err)
	}
	if texts := resultTexts(h.History()); texts != "blue" {
		t.Errorf("results %q", texts)
	}
}

// A record that the journal takes after its caller gave up is reported as soon as it is written.
func TestJ7_LateRecordsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{options: agent.Options{Journal: &slowLog{kind: "note"}}})
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		if err := h.Note(ctx, "x", []byte(`1`), ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Note = %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(only[*agent.NoteWritten](h)) != 1 {
			t.Errorf("events %s", h.kinds())
		}
	})
}

// A catalog of models that hangs blocks only its caller.
func TestJ7_HangingCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, calls := make(chan struct{}), atomic.Int32{}
		var h *host
		hangs := func(string, string) (llm.Model, bool) {
			if h != nil && calls.Add(1) == 1 {
				close(asked)
				time.Sleep(time.Minute)
			}
			return llm.Model{}, false
		}
		h = open(t, setup{models: hangs, steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}})
		ended := make(chan error, 1)
		go func() { ended <- second(h.Submit(context.Background(), "go")) }()
		<-asked
		checkDuration(t, "Status and Steer", 0, func() {
			if h.Status() != agent.StatusProcessing || h.Steer(context.Background(), "x") != nil {
				t.Errorf("the session is %s", h.Status())
			}
		})
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
