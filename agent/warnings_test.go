package agent_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// Unknown efforts and models are sent, and the host is warned.
func TestI17_UnknownEffortsAndModels(t *testing.T) {
	knows := func(models ...llm.Model) llm.Lookup {
		return func(_, id string) (llm.Model, bool) {
			for _, m := range models {
				if m.ID == id {
					return m, true
				}
			}
			return llm.Model{}, false
		}
	}
	one := llm.Model{ID: "model-1", Efforts: []string{"low", "high"}}
	plain := llm.Model{ID: "model-1"}
	for name, c := range map[string]struct {
		models             llm.Lookup
		effort, sent, want string
	}{
		"all known":                    {knows(one), "high", "high", ""},
		"no effort":                    {knows(one), "", "", ""},
		"an effort of other models":    {knows(one), "medium", "low", "effort_clamped"},
		"an effort that nobody knows":  {knows(one), "hgih", "hgih", "effort_unknown"},
		"of a model without efforts":   {knows(plain), "hgih", "hgih", "effort_unknown"},
		"a usual effort of such":       {knows(plain), "xhigh", "xhigh", ""},
		"an unknown model":             {knows(), "high", "high", "model_unknown"},
		"an unknown model, and effort": {knows(), "hgih", "hgih", "model_unknown effort_unknown"},
		"a client that knows none":     {nil, "high", "high", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{models: c.models, options: agent.Options{Effort: c.effort},
				steps: []llmtest.Step{llmtest.Text("ok")}})
			h.submit(t, "go", agent.ReasonCompleted)
			if sent := h.model.Requests()[0].Effort; h.warned() != c.want || sent != c.sent {
				t.Errorf("warned %q and sent %q, want %q and %q", h.warned(), sent, c.want, c.sent)
			}
		})
	}
	t.Run("an unknown model that is also a fallback", func(t *testing.T) {
		var o agent.Options
		o.Policy.Fallbacks.Models = []agent.FallbackModel{{Provider: "test", Model: "model-1"},
			{Provider: "test", Model: "other"},
			{Provider: "test", Model: "other"}}
		h := open(t, setup{models: knows(), options: o, steps: []llmtest.Step{llmtest.Text("ok")}})
		h.submit(t, "go", agent.ReasonCompleted)
		if h.warned() != "model_unknown model_unknown" {
			t.Errorf("warned %q, want each model once", h.warned())
		}
	})
	t.Run("set later", func(t *testing.T) {
		h := open(t, setup{models: knows(one), steps: []llmtest.Step{llmtest.Text("ok")}})
		effort, model := "hgih", "model-2"
		if err := errors.Join(h.Set(context.Background(), agent.Settings{Effort: &effort}),
			h.Set(context.Background(), agent.Settings{Model: &model})); err != nil {
			t.Fatal(err)
		}
		h.submit(t, "go", agent.ReasonCompleted)
		if h.warned() != "effort_unknown model_unknown effort_unknown" {
			t.Errorf("warned %q", h.warned())
		}
	})
}

// The warning for a request that was too long has the provider's numbers, or else our estimate.
func TestI17_ContextWarningHasTheNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		err            llm.Error
		window         int
		ratio          float64
		tokens, atMost int
		of             int
	}{
		"the provider's": {llm.Error{Tokens: 250_000, Window: 200_000}, 0, 1.25, 250_000, 250_000, 200_000},
		"the provider's come first": {llm.Error{Tokens: 250_000, Window: 200_000}, 100_000, 1.25, 250_000, 250_000,
			200_000},
		"the provider's window":       {llm.Error{Window: 8_192}, 0, 1, 5, 50, 8_192},
		"ours":                        {llm.Error{Status: 413}, 100_000, 1, 5, 50, 100_000},
		"an estimate, without window": {llm.Error{Status: 413}, 0, 1, 5, 50, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.err.Kind, c.err.Message = llm.ErrContextLength, "too long"
			h := open(t, setup{models: window(c.window), steps: []llmtest.Step{llmtest.Error(&c.err)}})
			_, err := h.Submit(context.Background(), "a task of a few words")
			var e *llm.Error
			if !errors.As(err, &e) || e.Tokens != c.err.Tokens || e.Window != c.err.Window {
				t.Errorf("%v", err)
			}
			w := only[*agent.ContextWarning](h)
			if len(w) != 1 || w[0].Ratio != c.ratio || w[0].Tokens < c.tokens || w[0].Tokens > c.atMost ||
				w[0].Window != c.of {
				t.Errorf("%+v", w)
			}
		})
	}
}

// hasDoubledPrefix reports whether a word stands twice in the prefix of an error.
func hasDoubledPrefix(text string) bool {
	prefixes := regexp.MustCompile(`(?:^|: |; )([a-z]+):`)
	seen := map[string]bool{}
	for rest := text; ; {
		at := prefixes.FindStringSubmatchIndex(rest)
		if at == nil {
			return false
		}
		word := rest[at[2]:at[3]]
		if seen[word] {
			return true
		}
		seen[word] = true
		rest = rest[at[3]:]
	}
}

// No error has the same prefix twice.
func TestI17_NoDoubledPrefixes(t *testing.T) {
	ctx := context.Background()
	closed, err := journal.NewDir(t.TempDir()).Create(ctx, "closed")
	if err != nil {
		t.Fatal(err)
	}
	broken := journal.NewMemory(journal.Record{Kind: "header", Data: []byte(`{"version":1}`)},
		journal.Record{Kind: "nonsense", Data: []byte(`{}`)})
	errs := map[string]error{}
	h, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test")}},
		Env: emptyEnv(t), System: "x",
		Journal: closed, Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, errs["submit"] = h.Submit(ctx, "go")
	errs["close"] = h.Close()
	_, errs["load"] = agent.Load(ctx, broken)
	errs["replay"] = agent.Replay(ctx, broken, agent.ReplayOptions{})
	_, errs["resume"] = agent.Resume(ctx, agent.Options{Journal: broken, Env: emptyEnv(t), Client: &llm.Client{}})
	other, model := "other", ""
	good := open(t, setup{options: agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: []byte(
		`{"type":"object"}`)}}}})
	errs["an unknown provider"], errs["no model"] = good.Set(context.Background(),
		agent.Settings{Provider: &other, Model: &other}), good.Set(context.Background(), agent.Settings{Model: &model})
	errs["a bad note"] = good.Note(context.Background(), "x", []byte("{"), "")
	errs["a tool twice"] = good.Set(context.Background(), agent.Settings{Tools: []tool.Tool{newTool("", writes, nil)}})
	for name, err := range errs {
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case hasDoubledPrefix(err.Error()) || !strings.Contains(err.Error(), ": "):
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"agent: journal: journal: x", "agent: it failed: agent: x"} {
		if !hasDoubledPrefix(text) {
			t.Errorf("%q was not found", text)
		}
	}
}
