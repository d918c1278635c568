package costs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/sessions/costs"
	"github.com/attractor-go/attractor/tool"
)

// prices returns what is known of the model: its tokens cost one, a tenth and 1.25 millionths of a
// dollar, and five for output.
func prices(provider, id string) (llm.Model, bool) {
	return llm.Model{ID: id, Provider: provider, Window: 100_000,
		Prices: []llm.Price{{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}}}, true
}

// sized returns a tool whose definition has a number of bytes, and its result 900.
func sized(name string, bytes int) tool.Tool {
	def := llm.ToolDefinition{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}
	def.Description = strings.Repeat("d", bytes-def.Size())
	reads := func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil }
	return tool.Tool{ToolDefinition: def, Access: reads,
		Run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text(strings.Repeat("r", 900)), nil
		}}
}

// options returns those of a session with a system prompt of 400 characters and a tool of 100.
func options(t *testing.T, log journal.Log, steps ...llmtest.Step) agent.Options {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	model := llmtest.NewProvider("test", steps...)
	return agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}, Models: prices},
		Env: local, Journal: log, System: strings.Repeat("s", 400),
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "m", Tools: []tool.Tool{sized("work", 100)}}}
}

// answer returns a step with a usage: a text of a number of characters and, if call, a call of six.
func answer(chars int, call string, u llm.Usage) llmtest.Step {
	parts := llm.Parts{llm.Text{Text: strings.Repeat("t", chars)}}
	if call != "" {
		parts = append(parts, llm.ToolCall{ID: "1", Name: call, Args: `{}`})
	}
	return llmtest.Respond(llm.Response{Message: llm.Message{Parts: parts}, Usage: u})
}

// parts returns the parts of a session, each with its price in millionths of a dollar.
func parts(t *testing.T, log journal.Reader, lookup llm.Lookup) (lines []string, tokens int, usd float64) {
	t.Helper()
	sum, err := costs.Read(t.Context(), log, lookup)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sum.Parts() {
		lines = append(lines, fmt.Sprintf("%s: %d tokens, %d requests, %.2f", p, p.Tokens, p.Requests, p.USD*1e6))
		tokens, usd = tokens+p.Tokens, usd+p.USD
	}
	return lines, tokens, usd
}

// Two requests. The first has 1,000 characters and tokens: 100 of tools, 400 of the system prompt,
// 500 of the task; all are written to the cache. The second has 2,000 characters and 4,000 tokens,
// of which the cache has the first 2,000, the next 1,000 are written, and 1,000 are fresh.
func TestV6_PartsByHand(t *testing.T) {
	log := new(journal.Memory)
	s, err := agent.New(t.Context(), options(t, log,
		answer(94, "work", llm.Usage{Input: 1000, CacheWrite: 1000, Output: 10}),
		answer(9, "", llm.Usage{Input: 4000, CacheRead: 2000, CacheWrite: 1000, Output: 10})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), strings.Repeat("u", 500)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, _ := parts(t, log, prices)
	want := []string{
		"the result of work in turn 3: 1800 tokens, 1 requests, 2000.00", // 800 × 1.25 + 1000
		"the message of turn 1: 1500 tokens, 2 requests, 725.00",         // 500 × 1.25 + 1000 × 0.1
		"the system prompt: 1200 tokens, 2 requests, 580.00",             // 400 × 1.25 + 800 × 0.1
		"the model's answers and calls: 200 tokens, 1 requests, 250.00",  // 200 × 1.25
		"the built-in tools: 300 tokens, 2 requests, 145.00",             // 100 × 1.25 + 200 × 0.1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with prices: %s", diff)
	}
	got, tokens, usd := parts(t, log, nil)
	if !strings.HasPrefix(got[0], "the result of work in turn 3: 1800 tokens") || tokens != 5000 || usd != 0 {
		t.Errorf("without prices: %q, %d tokens, $%v", got, tokens, usd)
	}
}

// A request that renews the cache is the last one again, without the answer that it had, and has a
// purpose of its own.
func TestV6_PartsOfARenewal(t *testing.T) {
	log := new(journal.Memory)
	s, err := agent.New(t.Context(), options(t, log,
		answer(94, "work", llm.Usage{Input: 1000, CacheWrite: 1000, Output: 10}),
		answer(9, "", llm.Usage{Input: 2000})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), strings.Repeat("u", 500)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var lines []journal.Record
	for line, err := range log.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, line); line.Kind == "answer" {
			break
		}
	}
	lines = append(lines, journal.Record{N: int64(len(lines)) + 1, Kind: "renewal", Data: json.RawMessage(
		`{"seq":0,"usage":{"input":1000,"cache_read":1000,"output":1},"cost_usd":0.000105}`)})
	renewed := journal.NewMemory(lines...)
	got, _, _ := parts(t, renewed, prices)
	if want := []string{
		"the message of turn 1: 1000 tokens, 2 requests, 675.00", // 500 × 1.25 + 500 × 0.1
		"the system prompt: 800 tokens, 2 requests, 540.00",
		"the built-in tools: 200 tokens, 2 requests, 135.00",
	}; !slices.Equal(got, want) {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	sum, err := costs.Read(t.Context(), renewed, prices)
	if err != nil {
		t.Fatal(err)
	}
	if usd := sum.Purposes["keeping the cache"].USD; math.Abs(usd-0.000105) > 1e-12 {
		t.Errorf("by purpose: %+v", sum.Purposes)
	}
}

// The parts of a session that fails, compacts, changes its tools, is resumed and has documents are
// together the input of its requests, by tokens and by dollars. A resume changes none.
func TestV6_PartsAreTheInput(t *testing.T) {
	log := new(journal.Memory)
	failure := llm.Errorf(llm.ErrOverloaded, "later")
	failure.Usage = llm.Usage{Input: 700, CacheRead: 100}
	o := options(t, log,
		llmtest.Error(failure),
		answer(94, "work", llm.Usage{Input: 1000, CacheWrite: 900, CacheWriteLong: 300, Output: 10}),
		answer(9, "", llm.Usage{Input: 4000, CacheRead: 2000, CacheWrite: 1000, Output: 10}),
		answer(9, "", llm.Usage{Input: 4100, CacheRead: 3000, Output: 10}),
		answer(40, "", llm.Usage{Input: 500, Output: 90})) // the summary
	o.Retry.Base = 1
	o.Policy.Compaction.KeepTurns = 1
	s, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"the task", "another"} {
		if _, err := s.Submit(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, _, _ := parts(t, log, prices)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o = options(t, log, answer(94, "mcp__trains__next", llm.Usage{Input: 900, CacheRead: 450, Output: 7}),
		answer(9, "", llm.Usage{Input: 2000, CacheRead: 900, CacheWrite: 500, Output: 7}))
	o.Dir = o.Env.WorkDir()
	if s, err = agent.Resume(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if after, _, _ := parts(t, log, prices); !slices.Equal(before, after) {
		t.Errorf("after a resume: %s", cmp.Diff(before, after))
	}
	if err := s.AddTools(t.Context(), sized("mcp__trains__next", 300)); err != nil {
		t.Fatal(err)
	}
	if err := s.Note(t.Context(), "instructions:/p/sub/AGENTS.md", json.RawMessage(`{}`),
		strings.Repeat("n", 200)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines, tokens, usd := parts(t, log, prices)
	wantTokens, wantUSD := inputOf(t, log)
	if math.Abs(float64(tokens-wantTokens)) > float64(len(lines)) || math.Abs(usd-wantUSD) > 1e-9 {
		t.Errorf("the parts have %d tokens for $%v, the requests %d for $%v:\n%s", tokens, usd, wantTokens, wantUSD,
			strings.Join(lines, "\n"))
	}
	for _, part := range []string{"the tools of the server trains", "the document /p/sub/AGENTS.md",
		"requests for summaries", "the summary in turn", "the result of mcp__trains__next"} {
		if !strings.Contains(strings.Join(lines, "\n"), part) {
			t.Errorf("%s is missing:\n%s", part, strings.Join(lines, "\n"))
		}
	}
}

// A document of the project is a part of its own, of the size that it has in the system prompt.
func TestV6_DocumentsOfThePrompt(t *testing.T) {
	log := new(journal.Memory)
	o := options(t, log, answer(9, "", llm.Usage{Input: 9000, Output: 1}))
	o.System = ""
	file := filepath.Join(o.Env.WorkDir(), "AGENTS.md")
	if err := os.WriteFile(file, []byte(strings.Repeat("Write tests. ", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines, _, _ := parts(t, log, prices)
	if !strings.HasPrefix(lines[0], "the document "+file+": 8") || !strings.HasPrefix(lines[1], "the system prompt: ") {
		t.Errorf("%q", lines)
	}
}

// inputOf returns the input of all requests by their records.
func inputOf(t *testing.T, log journal.Reader) (tokens int, usd float64) {
	t.Helper()
	facts, _ := prices("test", "m")
	for line, err := range log.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Usage llm.Usage `json:"usage"`
		}
		if line.Kind == "result" || json.Unmarshal(line.Data, &r) != nil {
			continue
		}
		r.Usage.Output = 0
		cost, _ := facts.Cost(r.Usage)
		tokens, usd = tokens+r.Usage.Input, usd+cost
	}
	return tokens, usd
}
