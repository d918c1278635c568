package agent_test

import (
	"context"
	"errors"
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

func ask(question string) llm.ToolCall {
	return llmtest.Call("ask_user", map[string]any{"question": question, "options": []string{"yes", "no"}})
}

// openAsking opens a session whose model may ask questions and has another tool.
func openAsking(t *testing.T, questions *agent.Questions, log journal.Log, steps ...llmtest.Step) *host {
	t.Helper()
	return open(t, setup{tools: []tool.Tool{coding.AskUser(), echo("work")}, steps: steps,
		options: agent.Options{Questions: questions, Journal: log}})
}

// results returns the texts of the results in the last tool_results turn.
func (h *host) results() string {
	var texts []string
	for _, turn := range h.History() {
		if turn.Kind != agent.TurnToolResults {
			continue
		}
		texts = nil
		for _, part := range turn.Message.Parts {
			texts = append(texts, part.(llm.ToolResult).Content.Text())
		}
	}
	return strings.Join(texts, "|")
}

// Without a host that answers, the tool is not offered, and no text is taken for a question.
func TestA1_QuestionsAreNotOffered(t *testing.T) {
	h := openAsking(t, nil, nil, llmtest.Text("Shall I go on?"))
	h.submit(t, "go", agent.ReasonCompleted)
	if h.Status() != agent.StatusIdle || len(h.model.Requests()[0].Tools) != 1 {
		t.Errorf("%s, tools %v", h.Status(), h.model.Requests()[0].Tools)
	}
	set(t, h, agent.Settings{Tools: []tool.Tool{coding.AskUser()}})
	if d := h.Definitions(); len(d) != 0 {
		t.Errorf("after Set: %v", d)
	}
}

// A host that answers at once is asked while the session waits, in parallel with the other calls of
// the answer.
func TestA1_QuestionIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		var asked tool.Question
		h = openAsking(t, &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer, error) {
			asked = q
			time.Sleep(time.Minute)
			if h.Status() != agent.StatusAwaiting {
				t.Errorf("status %s", h.Status())
			}
			return tool.Answer{Text: "no"}, nil
		}}, nil, llmtest.Calls(call("work"), ask("really?")), llmtest.Text("done"))
		h.submit(t, "go", agent.ReasonCompleted)
		if h.results() != "work ran|no" || asked.Text != "really?" || strings.Join(asked.Options, ",") != "yes,no" ||
			h.Status() != agent.StatusIdle {
			t.Errorf("results %q, asked %+v, %s", h.results(), asked, h.Status())
		}
		q := only[*agent.InputRequested](h)
		if len(q) != 1 || q[0].Question != "really?" || len(q[0].Options) != 2 ||
			q[0].CallID != h.History()[1].Message.Parts.ToolCalls()[1].ID {
			t.Errorf("%+v", q)
		}
	})
}

// An interrupt does not wait for the person, and the session is usable at once.
func TestA1_InterruptDuringAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thinks := make(chan struct{})
		var h *host
		h = openAsking(t, &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer, error) {
			<-thinks
			return tool.Answer{Text: "too late"}, nil
		}}, nil, llmtest.Calls(ask("really?")), llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			if h.Status() != agent.StatusProcessing {
				t.Errorf("status %s", h.Status())
			}
			return llmtest.Text("done")
		}))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); err == nil || result.Reason != agent.ReasonInterrupted {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		if h.Status() != agent.StatusIdle || !strings.Contains(h.results(), "abandoned") {
			t.Errorf("%s, results %q", h.Status(), h.results())
		}
		h.submit(t, "go on", agent.ReasonCompleted)
		if err := h.Close(); err != nil || h.Status() != agent.StatusClosed {
			t.Errorf("Close = %v, %s", err, h.Status())
		}
		close(thinks)
		synctest.Wait()
	})
}

// An error of the host is shown to the model as the result.
func TestA1_AnswerThatFails(t *testing.T) {
	h := openAsking(t, &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{}, errors.New("the user has left")
	}}, nil, llmtest.Calls(ask("really?")), llmtest.Text("done"))
	h.submit(t, "go", agent.ReasonCompleted)
	if !strings.Contains(h.results(), "the user has left") {
		t.Errorf("results %q", h.results())
	}
}

// Without a callback the input ends, and the next input is the answer: it becomes the call's
// result, not a turn.
func TestA1_AnswerComesWithTheNextInput(t *testing.T) {
	h := openAsking(t, &agent.Questions{}, nil, llmtest.Calls(call("work"), ask("really?")), llmtest.Text("done"))
	if err := h.FollowUp(context.Background(), "afterwards"); err != nil {
		t.Fatal(err)
	}
	h.model.Then(llmtest.Text("and afterwards"))
	result := h.submit(t, "go", agent.ReasonAwaitingInput)
	if h.Status() != agent.StatusAwaiting || result.Turns != 1 {
		t.Errorf("%s, %+v", h.Status(), result)
	}
	if !strings.Contains(h.kinds(), "INPUT_REQUESTED") || !strings.HasSuffix(h.kinds(), " PROCESSING_END") ||
		only[*agent.ProcessingEnd](h)[0].State != agent.StatusAwaiting {
		t.Errorf("events %s", h.kinds())
	}
	if len(only[*agent.ToolCallEnd](h)) != 1 {
		t.Errorf("the question has ended: %s", h.kinds())
	}
	if err := h.Steer(context.Background(), "be quick"); err != nil {
		t.Fatal(err)
	}
	result = h.submit(t, "no, never", agent.ReasonCompleted)
	if result.Text != "and afterwards" || h.Status() != agent.StatusIdle {
		t.Errorf("%+v, %s", result, h.Status())
	}
	if want := "user:user assistant:model tool_results:tools steering:steer assistant:model user:user " +
		"assistant:model"; h.turns() != want {
		t.Errorf("history %s", h.turns())
	}
	if h.results() != "work ran|no, never" {
		t.Errorf("results %q", h.results())
	}
	if n := strings.Count(h.kinds(), "USER_INPUT"); n != 3 || only[*agent.UserInput](h)[1].Text != "no, never" {
		t.Errorf("events %s", h.kinds())
	}
	if messages := h.model.Requests()[1].Messages; len(messages) != 5 || messages[3].Role != llm.RoleTool {
		t.Errorf("the model was sent %+v", messages)
	}
}

// Several questions of one answer are answered one after the other. The model is called when all
// have answers.
func TestA1_SeveralQuestions(t *testing.T) {
	h := openAsking(t, &agent.Questions{}, nil, llmtest.Calls(ask("first?"), ask("second?")), llmtest.Text("done"))
	h.submit(t, "go", agent.ReasonAwaitingInput)
	if n := len(only[*agent.InputRequested](h)); n != 2 {
		t.Errorf("%d questions", n)
	}
	h.submit(t, "one", agent.ReasonAwaitingInput)
	if h.Status() != agent.StatusAwaiting || len(h.model.Requests()) != 1 {
		t.Errorf("%s after %d requests", h.Status(), len(h.model.Requests()))
	}
	h.submit(t, "two", agent.ReasonCompleted)
	if h.results() != "one|two" {
		t.Errorf("results %q", h.results())
	}
}

// An answer may have parts other than text.
func TestA1_AnswerWithAnImage(t *testing.T) {
	h := openAsking(t, &agent.Questions{}, nil, llmtest.Calls(ask("how does it look?")), llmtest.Text("done"))
	h.submit(t, "go", agent.ReasonAwaitingInput)
	if result, err := h.Submit(context.Background(), "so",
		agent.Attach(llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)})); err != nil || result.Text != "done" {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
	if parts := h.History()[2].Message.Parts[0].(llm.ToolResult).Content; len(parts) != 2 {
		t.Errorf("the answer is %+v", parts)
	}
}

// Interrupt, Compact and Continue do not answer a question: the session keeps waiting.
func TestA1_KeepsWaiting(t *testing.T) {
	h := openAsking(t, &agent.Questions{}, nil, llmtest.Calls(ask("really?")), llmtest.Text("done"))
	h.submit(t, "go", agent.ReasonAwaitingInput)
	h.Interrupt()
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if result, err := h.Continue(context.Background()); err != nil || result.Reason != agent.ReasonAwaitingInput {
		t.Fatalf("Continue = %+v, %v", result, err)
	}
	if h.Status() != agent.StatusAwaiting || len(h.model.Requests()) != 1 {
		t.Errorf("%s after %d requests", h.Status(), len(h.model.Requests()))
	}
	h.submit(t, "yes", agent.ReasonCompleted)
	if h.results() != "yes" {
		t.Errorf("results %q", h.results())
	}
}

// Another call of the answer may still run when the question is asked. An interrupt then ends both.
func TestA1_InterruptWithAQuestionAndACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := newTool("hang", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		})
		h := open(t, setup{tools: []tool.Tool{coding.AskUser(), hang},
			options: agent.Options{Questions: &agent.Questions{}},
			steps:   []llmtest.Step{llmtest.Calls(ask("really?"), call("hang")), llmtest.Text("done")}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); err == nil || result.Reason != agent.ReasonInterrupted {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		if h.Status() != agent.StatusIdle || !strings.Contains(h.results(), "not answered") {
			t.Errorf("%s, results %q", h.Status(), h.results())
		}
		h.submit(t, "another task", agent.ReasonCompleted)
		if !strings.HasSuffix(h.turns(), "tool_results:tools user:user assistant:model") {
			t.Errorf("history %s", h.turns())
		}
	})
}

// A session that waits for an answer is resumed waiting: it emits its question again, and the next
// input answers it as usual.
func TestA1_ResumesWaiting(t *testing.T) {
	steps := []llmtest.Step{llmtest.Calls(call("work"), ask("really?")), llmtest.Text("done")}
	log, whole := new(journal.Memory), new(journal.Memory)
	h := openAsking(t, &agent.Questions{}, log, steps...)
	h.submit(t, "go", agent.ReasonAwaitingInput)
	if err := h.Close(); err != nil || h.Status() != agent.StatusClosed {
		t.Fatalf("Close = %v, %s", err, h.Status())
	}
	uninterrupted := openAsking(t, &agent.Questions{}, whole, steps...)
	uninterrupted.submit(t, "go", agent.ReasonAwaitingInput)
	uninterrupted.submit(t, "no", agent.ReasonCompleted)
	records := all(t, log)
	for n := len(records); n > len(records)-2; n-- { // with and without the record of the session's end
		rest := openAsking(t, &agent.Questions{}, journal.NewMemory(records[:n]...), steps[1])
		if q := only[*agent.InputRequested](rest); rest.Status() != agent.StatusAwaiting || len(q) != 1 ||
			q[0].Question != "really?" {
			t.Errorf("%s, events %s", rest.Status(), rest.kinds())
		}
		rest.submit(t, "no", agent.ReasonCompleted)
		want, got := uninterrupted.model.Requests()[1], rest.model.Requests()[0]
		got.CacheKey = want.CacheKey
		checkSameRequest(t, want, got)
	}
}

// Whatever part of the answer was written when the process died, the resumed session waits for the
// question or has its answer.
func TestA1_ResumesWithinTheAnswer(t *testing.T) {
	log := new(journal.Memory)
	h := openAsking(t, &agent.Questions{}, log, llmtest.Calls(ask("really?")), llmtest.Text("done"))
	h.submit(t, "go", agent.ReasonAwaitingInput)
	h.submit(t, "no", agent.ReasonCompleted)
	records := all(t, log)
	for n, r := range records {
		if r.Kind != "await" && r.Kind != "end" && r.Kind != "input" || n < 2 || count(records[:n+1], "await") == 0 {
			continue
		}
		rest := openAsking(t, &agent.Questions{}, journal.NewMemory(records[:n+1]...), llmtest.Text("done"))
		result, err := rest.Continue(context.Background())
		if err != nil {
			t.Fatalf("after %d records: %v", n+1, err)
		}
		if result.Reason == agent.ReasonAwaitingInput {
			rest.submit(t, "no", agent.ReasonCompleted)
		}
		if rest.results() != "no" {
			t.Errorf("after %d records (last: %s): results %q", n+1, r.Kind, rest.results())
		}
	}
}

// An answer applies to the question for which BeforeInput was called, not to a later one.
func TestJ7_AnswerToAnEarlierQuestion(t *testing.T) {
	ctx := context.Background()
	var h *host
	ask := func(question string) llmtest.Step {
		return llmtest.Calls(llmtest.Call("ask_user", `{"question":"`+question+`"}`))
	}
	h = open(t, setup{tools: []tool.Tool{coding.AskUser()}, steps: []llmtest.Step{ask("Which?"), ask("Delete all?")},
		options: agent.Options{Questions: &agent.Questions{},
			Hooks: agent.Hooks{BeforeInput: func(_ context.Context, m agent.Message) (agent.Message, error) {
				if m.Text == "yes" { // meanwhile another caller answers
					h.submit(t, "blue", agent.ReasonAwaitingInput)
				}
				return m, nil
			}}}})
	h.submit(t, "go", agent.ReasonAwaitingInput)
	if err := h.Answer(ctx, tool.Answer{Text: "yes"}); err == nil {
		t.Error("the answer was taken for one to another question")
	}
	if got := h.Status(); got != agent.StatusAwaiting {
		t.Errorf("the session is %s", got)
	}
}

// Interrupt at rest has no effect, even if a question waits.
func TestJ2_InterruptBeforeAnAnswer(t *testing.T) {
	ctx := context.Background()
	h := open(t, setup{tools: []tool.Tool{coding.AskUser()}, options: agent.Options{Questions: &agent.Questions{}},
		steps: []llmtest.Step{llmtest.Calls(llmtest.Call("ask_user", `{"question":"Which?"}`)),
			llmtest.Text("thanks")}})
	h.submit(t, "go", agent.ReasonAwaitingInput)
	h.Interrupt()
	if err := h.Answer(ctx, tool.Answer{Text: "blue"}); err != nil {
		t.Fatal(err)
	}
	if result, err := h.Continue(ctx); err != nil || result.Reason != agent.ReasonCompleted {
		t.Errorf("%+v, %v", result, err)
	}
}

// The model reads that an interrupted question was not answered, and not with which error the
// host's code ended.
func TestJ11_InterruptedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAsking(t, &agent.Questions{Answer: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			<-ctx.Done()
			return tool.Answer{}, context.Cause(ctx)
		}}, nil, llmtest.Calls(ask("really?")))
		ended := make(chan *agent.Result)
		go func() {
			result, err := h.Submit(context.Background(), "go")
			if err != nil {
				t.Error(err)
			}
			ended <- result
		}()
		synctest.Wait()
		h.Interrupt()
		if result := <-ended; result.Reason != agent.ReasonInterrupted {
			t.Errorf("the input ended as %s", result.Reason)
		}
		if got := h.results(); got != "Error: the question was not answered, because the session was interrupted" {
			t.Errorf("results %q", got)
		}
	})
}
