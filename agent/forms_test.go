package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

const ageForm = `{"type":"object","properties":{"age":{"type":"integer","minimum":0}},"required":["age"]}`

// formTool returns a tool that calls a server, which asks a person a question meanwhile.
func formTool(q tool.Question) tool.Tool {
	return newTool("register", readOnly, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		answer, err := call.Session.Ask(ctx, q)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(fmt.Sprintf("%s: %s %s", answer.Action, answer.Content, answer.Text)), nil
	})
}

// scriptedAnswers returns a host that gives the answers one after the other and records the
// questions.
func scriptedAnswers(asked *[]tool.Question, answers ...tool.Answer) *agent.Questions {
	return &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer, error) {
		*asked = append(*asked, q)
		return answers[min(len(*asked), len(answers))-1], nil
	}}
}

func content(text string) tool.Answer { return tool.Answer{Content: json.RawMessage(text)} }

// A tool gets only answers that fit its form. Until then the host is asked again and told why.
func TestJ6_FormIsAnsweredAtOnce(t *testing.T) {
	var asked []tool.Question
	log := new(journal.Memory)
	spacious := json.RawMessage(strings.ReplaceAll(ageForm, ":", ": "))
	h := open(t, setup{tools: []tool.Tool{formTool(tool.Question{Text: "How old?", Form: spacious, Source: "registry",
		Now: true})},
		options: agent.Options{Journal: log, Questions: scriptedAnswers(&asked, content(`{"age":-1}`),
			content(`{"age":"41"}`)), Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
		steps: answerSummaries(llmtest.Calls(call("register")), llmtest.Text("done"), llmtest.Text("more"))})
	h.submit(t, "go", agent.ReasonCompleted)
	if h.results() != `accept: {"age":41} ` {
		t.Errorf("results %q", h.results())
	}
	id := h.History()[1].Message.Parts.ToolCalls()[0].ID
	if len(asked) != 2 || asked[0].CallID != id || asked[0].Problem != "" || !strings.Contains(asked[1].Problem,
		`"age" must be 0 or more`) || asked[1].Source != "registry" {
		t.Errorf("asked %+v", asked)
	}
	events := only[*agent.InputRequested](h)
	if len(events) != 2 || events[0].CallID != id || string(events[0].Form) != ageForm ||
		events[0].Source != "registry" || events[1].Problem != asked[1].Problem {
		t.Errorf("events %+v", events)
	}
	compactAll(t, h) // the person's words are kept as they were; the tool's version of them is not
	h.submit(t, "more", agent.ReasonCompleted)
	if last := h.lastRequestText(); !strings.Contains(last, "To the question: How old?\n{\"age\":41}\n") ||
		strings.Contains(last, "accept:") {
		t.Errorf("the model has %q", last)
	}
	rest := open(t, setup{tools: []tool.Tool{formTool(tool.Question{})},
		options: agent.Options{Journal: journal.NewMemory(all(t, log)...)}, steps: []llmtest.Step{llmtest.Text("hi")}})
	rest.submit(t, "hello", agent.ReasonCompleted)
	if !strings.Contains(rest.lastRequestText(), `{"age":41}`) {
		t.Errorf("after a resume the model has %q", rest.lastRequestText())
	}
}

// A host that cannot fill a form is not asked forever. A tool's form must be valid.
func TestJ6_FormThatCannotBeFilled(t *testing.T) {
	for name, c := range map[string]struct {
		question  tool.Question
		questions func(*[]tool.Question) *agent.Questions
		asked     int
		result    string
	}{
		"no form fits": {tool.Question{Form: json.RawMessage(ageForm)},
			func(q *[]tool.Question) *agent.Questions { return scriptedAnswers(q, tool.Answer{Text: "41"}) }, 3,
			"asked 3 times"},
		"broken form": {tool.Question{Form: json.RawMessage(`{"type":"string"}`)},
			func(q *[]tool.Question) *agent.Questions { return scriptedAnswers(q, tool.Answer{}) }, 0,
			"the question's form"},
		"answered later": {tool.Question{Now: true},
			func(*[]tool.Question) *agent.Questions { return &agent.Questions{} }, 0, "nobody can answer"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []tool.Question
			h := open(t, setup{tools: []tool.Tool{formTool(c.question)},
				steps:   []llmtest.Step{llmtest.Calls(call("register")), llmtest.Text("done")},
				options: agent.Options{Questions: c.questions(&asked)}})
			h.submit(t, "go", agent.ReasonCompleted)
			end := only[*agent.ToolCallEnd](h)[0]
			if len(asked) != c.asked || !end.IsError || !strings.Contains(end.Output, c.result) {
				t.Errorf("asked %d times, result %q", len(asked), end.Output)
			}
		})
	}
}

// A person may decline or cancel. The tool sees which, and the model reads what to do then.
func TestJ6_DeclinedAtOnce(t *testing.T) {
	for action, words := range map[tool.Action]string{tool.ActionDecline: "The user declined to answer",
		tool.ActionCancel: "The user closed this question"} {
		t.Run(string(action), func(t *testing.T) {
			var questions []tool.Question
			h := open(t, setup{tools: []tool.Tool{coding.AskUser(),
				formTool(tool.Question{Text: "How old?", Form: json.RawMessage(ageForm)})},
				options: agent.Options{Questions: scriptedAnswers(&questions,
					tool.Answer{Action: action, Content: json.RawMessage(`{"age":1}`)}),
					Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
				steps: answerSummaries(llmtest.Calls(ask("Which?")), llmtest.Calls(call("register")),
					llmtest.Text("done"), llmtest.Text("more"))})
			h.submit(t, "go", agent.ReasonCompleted)
			ends := only[*agent.ToolCallEnd](h)
			if !strings.HasPrefix(ends[0].Output, words) || ends[0].IsError || ends[1].Output != string(action)+":  " {
				t.Errorf("results %q and %q", ends[0].Output, ends[1].Output)
			}
			compactAll(t, h)
			h.submit(t, "more", agent.ReasonCompleted)
			for _, question := range []string{"Which?", "How old?"} {
				if !strings.Contains(h.lastRequestText(), "To the question: "+question+"\n"+words) {
					t.Errorf("the model has %q", h.lastRequestText())
				}
			}
		})
	}
}

// An input that does not fit the form of its question changes nothing: the session keeps waiting.
func TestJ6_FormIsAnsweredWithTheNextInput(t *testing.T) {
	steps := []llmtest.Step{llmtest.Calls(call("register")), llmtest.Text("done")}
	tools := []tool.Tool{formTool(tool.Question{Text: "How old?", Form: json.RawMessage(ageForm), Source: "registry"})}
	log := new(journal.Memory)
	h := open(t, setup{tools: tools, steps: steps, options: agent.Options{Journal: log, Questions: &agent.Questions{}}})
	h.submit(t, "go", agent.ReasonAwaitingInput)
	before := log.Len()
	if result, err := h.Submit(context.Background(), "forty"); err == nil || result.Reason != "" ||
		h.Status() != agent.StatusAwaiting || log.Len() != before {
		t.Fatalf("Submit = %+v, %v; %s with %d records", result, err, h.Status(), log.Len()-before)
	}
	rest := open(t, setup{tools: tools, steps: steps[1:],
		options: agent.Options{Journal: journal.NewMemory(all(t, log)...), Questions: &agent.Questions{}}})
	if q := only[*agent.InputRequested](rest); len(q) != 1 || string(q[0].Form) != ageForm ||
		q[0].Source != "registry" {
		t.Errorf("after a resume asked %+v", q)
	}
	for _, s := range []*host{h, rest} {
		s.submit(t, `{"age":"41"}`, agent.ReasonCompleted)
		if s.results() != `{"age":41}` {
			t.Errorf("results %q", s.results())
		}
		inputs := only[*agent.UserInput](s)
		if input := inputs[len(inputs)-1]; input.Text != `{"age":41}` || input.Action != tool.ActionAccept {
			t.Errorf("input %+v", input)
		}
	}
	checkSameRequest(t, h.model.Requests()[1], withKey(rest.model.Requests()[0], h.model.Requests()[1].CacheKey))
}

// withKey returns a request with another cache key, because the key is the session's id.
func withKey(r *llm.Request, key string) *llm.Request {
	r.CacheKey = key
	return r
}

// A waiting question may be declined, canceled or answered with the content of its form. Content
// that does not fit changes nothing.
func TestJ6_AnsweredLater(t *testing.T) {
	for name, c := range map[string]struct {
		answer tool.Answer
		input  agent.UserInput
		result string
	}{
		"declined": {tool.Answer{Action: tool.ActionDecline, Text: "too private"},
			agent.UserInput{Action: tool.ActionDecline, Text: "too private"},
			"The user declined to answer this question. Do not ask it again: go on without the answer, and say what " +
				"you assumed instead. The user said: too private"},
		"canceled": {tool.Answer{Action: tool.ActionCancel}, agent.UserInput{Action: tool.ActionCancel},
			"The user closed this question without answering it. Go on without the answer if you can; ask again only " +
				"if there is no other way."},
		"filled": {content(`{"age": 41}`), agent.UserInput{Text: `{"age":41}`}, `{"age":41}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{formTool(tool.Question{Text: "How old?",
				Form: json.RawMessage(ageForm)})},
				options: agent.Options{Questions: &agent.Questions{}},
				steps:   []llmtest.Step{llmtest.Calls(call("register")), llmtest.Text("done")}})
			h.submit(t, "go", agent.ReasonAwaitingInput)
			before := h.FoldedState().Records
			for _, wrong := range []tool.Answer{content(`{"age":-1}`), {Text: "forty"}, {Action: "perhaps"}} {
				if err := h.Answer(context.Background(), wrong); err == nil || h.Status() != agent.StatusAwaiting ||
					h.FoldedState().Records != before {
					t.Errorf("Answer(%+v) = %v; %s with %d more records", wrong, err, h.Status(),
						h.FoldedState().Records-before)
				}
			}
			if err := h.Answer(context.Background(), c.answer); err != nil {
				t.Fatal(err)
			}
			if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" {
				t.Fatalf("Continue = %+v, %v", result, err)
			}
			input := only[*agent.UserInput](h)[1]
			if h.results() != c.result || input.Text != c.input.Text || input.Action != c.input.Action {
				t.Errorf("results %q, input %+v", h.results(), input)
			}
			if err := h.Answer(context.Background(), c.answer); err == nil {
				t.Error("a question is answered twice")
			}
		})
	}
}
