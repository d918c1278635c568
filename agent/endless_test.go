package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// TestI9_EndlessAnswer checks that an answer that is cut off for its length is requested once, ends
// the session, and is billed.
func TestI9_EndlessAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakellm.New(fakellm.Script(fakellm.Turn{Text: strings.Repeat("word or other... ", 1<<20)}),
			fakellm.Options{Words: 30_000})
		h := open(t, setup{wrap: func(llm.Provider) llm.Provider {
			p, err := anthropic.New(anthropic.Options{Name: "test", APIKey: "k", BaseURL: "http://model.test",
				HTTPClient: llmtest.PipeClient(t, server)})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}})
		result, err := h.Submit(context.Background(), "go")
		if !errors.Is(err, llm.ErrStream) || !strings.Contains(err.Error(), "16 MiB") ||
			result.Reason != agent.ReasonFailed {
			t.Errorf("Submit = %v, %v", result.Reason, err)
		}
		if n := len(server.Requests()); n != 1 || len(only[*agent.LLMRetry](h)) != 0 {
			t.Errorf("%d requests, events %s", n, h.kinds())
		}
		ends := only[*agent.AssistantTextEnd](h)
		if len(ends) != 1 || !ends[0].Discarded || len(ends[0].Text) > 16<<20 {
			t.Errorf("%d texts", len(ends))
		}
		if u := result.Usage; u.Output < 15<<20/4 || u.Input <= 0 {
			t.Errorf("usage %+v: what was cut off is billed", u)
		}
	})
}
