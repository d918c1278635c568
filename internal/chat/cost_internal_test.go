package chat

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/sessions/costs"
)

// What attempts that failed have used is shown apart from what answers have.
func TestU22_CostByPurpose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
		if err != nil {
			t.Fatal(err)
		}
		var log journal.Memory
		o := longsession.Options(local, 0)
		server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "The first answer."},
			fakellm.Turn{Text: "The second answer."}),
			fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 3}}})
		provider, err := anthropic.New(anthropic.Options{
			Name: "test", APIKey: "k", BaseURL: "http://model.test", HTTPClient: llmtest.PipeClient(t, server),
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Client, o.Journal = &llm.Client{Providers: []llm.Provider{provider}}, &log
		session, err := agent.New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, purposes := range [][]string{nil, {"for answers: ", "for attempts that failed: "}} {
			if _, err := session.Submit(t.Context(), "Go on."); err != nil {
				t.Fatal(err)
			}
			sum, err := costs.Read(t.Context(), &log, nil)
			if err != nil {
				t.Fatal(err)
			}
			text := render.Costs(sum)
			if !strings.Contains(text, "test/model-1: ") ||
				strings.Count(text, "    for ") != len(purposes) {
				t.Errorf("%s", text)
			}
			for _, purpose := range purposes {
				if !strings.Contains(text, purpose) {
					t.Errorf("no %q in\n%s", purpose, text)
				}
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
}
