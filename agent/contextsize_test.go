package agent_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// answerWithUsage returns an answer with reported usage.
func answerWithUsage(in, out int, parts ...llm.Part) llmtest.Step {
	return llmtest.Respond(llm.Response{Message: llm.Message{Parts: parts}, Usage: llm.Usage{Input: in, Output: out}})
}

// answerWithoutUsage returns an answer without reported usage.
func answerWithoutUsage(parts ...llm.Part) llmtest.Step {
	step := llmtest.Answer(parts...)
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			for ev, err := range step(ctx, req) {
				if ev.Response != nil {
					silent := *ev.Response
					silent.Usage = llm.Usage{}
					ev.Response = &silent
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// windowWarnings returns the warnings about the window, in percent and tokens.
func (h *host) windowWarnings() []string {
	var filled []string
	for _, w := range only[*agent.ContextWarning](h) {
		filled = append(filled, fmt.Sprintf("%.1f%% %d/%d", w.Ratio*100, w.Tokens, w.Window))
	}
	return filled
}

func window(n int) llm.Lookup { return model(llm.Model{Window: n}) }

// wideTool returns a tool that prints n characters of two bytes each.
func wideTool(name string, n int) tool.Tool {
	return newTool(name, readOnly, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Text(strings.Repeat("é", n)), nil
	})
}

// The context size is the reported usage plus a token for every four characters after it, here
// those of the result.
func TestA10_ByUsage(t *testing.T) {
	h := open(t, setup{models: window(1000), tools: []tool.Tool{wideTool("print", 400)}, steps: []llmtest.Step{
		answerWithUsage(690, 9, call("print")),                              // 699, then 799 with the result
		answerWithUsage(790, 10, call("print")),                             // 800, then 900
		answerWithUsage(839, 10, llm.Text{Text: "less than was estimated"}), // 849
		answerWithUsage(900, 49, llm.Text{Text: "949"}),
		answerWithUsage(950, 0, llm.Text{Text: "950"})}})
	for _, prompt := range []string{"", "b", "c"} {
		h.submit(t, "go"+prompt, agent.ReasonCompleted)
	}
	want := []string{"80.0% 800/1000", "90.0% 900/1000", "95.0% 950/1000"}
	if got := h.windowWarnings(); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// Without reported usage all of the system prompt, the tools and the turns is counted by
// characters.
func TestA10_ByCharacters(t *testing.T) {
	printing := wideTool("print", 100)
	definition := len(printing.Name) + len(printing.Description) + len(printing.Parameters)
	before := len("You are being tested.") + definition + len("go") + len("print{}")
	tokens := func(chars int) int { return (chars + 3) / 4 }
	size := tokens(before+100) * 100 / 80 // the first result fills 80 percent
	h := open(t, setup{models: window(size), tools: []tool.Tool{printing}, steps: []llmtest.Step{
		answerWithoutUsage(call("print")), answerWithoutUsage(llm.Text{Text: strings.Repeat("é", 4*size/10)})}})
	h.submit(t, "go", agent.ReasonCompleted)
	got := only[*agent.ContextWarning](h)
	if len(got) != 2 || got[0].Tokens != tokens(before+100) || got[1].Tokens != tokens(before+100+4*size/10) {
		t.Errorf("warnings %q, want them at %d and %d", h.windowWarnings(), tokens(before+100),
			tokens(before+100+4*size/10))
	}
}

// Each level is reported once, also after the size has fallen and risen again, and after a resume.
func TestA10_EachLevelOnce(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{models: window(1000), options: agent.Options{Journal: log}, steps: []llmtest.Step{
		answerWithUsage(820, 0, llm.Text{Text: "a"}), answerWithUsage(700, 0, llm.Text{Text: "b"}),
		answerWithUsage(830, 0, llm.Text{Text: "c"})}})
	for range 3 {
		h.submit(t, "go", agent.ReasonCompleted)
	}
	if got := h.windowWarnings(); !slices.Equal(got, []string{"82.0% 820/1000"}) {
		t.Errorf("warnings %q", got)
	}
	rest := open(t, setup{models: window(1000), options: agent.Options{Journal: journal.NewMemory(all(t, log)...)},
		steps: []llmtest.Step{answerWithUsage(840, 0, llm.Text{Text: "d"}),
			answerWithUsage(850, 0, llm.Text{Text: "e"})}})
	rest.submit(t, "go", agent.ReasonCompleted)
	rest.submit(t, "go", agent.ReasonCompleted)
	if got := rest.windowWarnings(); !slices.Equal(got, []string{"85.0% 850/1000"}) {
		t.Errorf("warnings after a resume %q", got)
	}
}

// Without a known window there are no warnings.
func TestA10_UnknownWindow(t *testing.T) {
	h := open(t, setup{models: model(llm.Model{}),
		steps: []llmtest.Step{answerWithUsage(1_000_000_000, 0, llm.Text{Text: "a"})}})
	h.submit(t, "go", agent.ReasonCompleted)
	if got := h.windowWarnings(); got != nil {
		t.Errorf("warnings %q", got)
	}
}

// The window is that of the current model. A change of the model starts the levels again.
func TestA10_AnotherModelsWindow(t *testing.T) {
	sizes := map[string]int{"model-1": 1000, "model-2": 2000}
	h := open(t, setup{models: func(_, id string) (llm.Model, bool) { return llm.Model{Window: sizes[id]}, true },
		steps: []llmtest.Step{answerWithUsage(900, 0, llm.Text{Text: "a"}),
			answerWithUsage(1_600, 0, llm.Text{Text: "b"}), answerWithUsage(1_600, 0, llm.Text{Text: "c"})}})
	h.submit(t, "go", agent.ReasonCompleted)
	two, one := "model-2", "model-1"
	set(t, h, agent.Settings{Model: &two})
	h.submit(t, "go", agent.ReasonCompleted)
	set(t, h, agent.Settings{Model: &one})
	h.submit(t, "go", agent.ReasonCompleted)
	if got, want := h.windowWarnings(), []string{"90.0% 900/1000", "80.0% 1600/2000",
		"160.0% 1600/1000"}; !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

// Replaced tools are counted in place of the old ones.
func TestA10_OtherTools(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{tools: []tool.Tool{echo("a")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{answerWithoutUsage(llm.Text{Text: "one"})}})
	h.submit(t, "go", agent.ReasonCompleted)
	before := h.FoldedState().Context.Chars
	long := echo("a")
	long.Description += strings.Repeat("x", 100)
	set(t, h, agent.Settings{Tools: []tool.Tool{long}})
	if got := h.FoldedState().Context.Chars; got != before+100 {
		t.Errorf("%d characters, want 100 more than %d", got, before)
	}
}
