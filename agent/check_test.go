package agent_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// validOptions returns valid options.
func validOptions() agent.Options {
	return agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test"),
		llmtest.NewProvider("other")}},
		Env: envtest.NewMemory(nil), Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}}
}

// addFallback returns a function that adds a fallback to options.
func addFallback(provider, model string, window int) func(o *agent.Options) {
	return func(o *agent.Options) {
		o.Fallbacks.Models = []agent.FallbackModel{{Provider: provider, Model: model, Window: window}}
	}
}

// TestI15_NewRefusesInvalidOptions lists options that New refuses, each with a part of the error.
// Nothing is written or emitted.
func TestI15_NewRefusesInvalidOptions(t *testing.T) {
	named := func(name string) []tool.Tool { return []tool.Tool{newTool(name, readOnly, nil)} }
	number := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		change func(o *agent.Options)
		want   string // empty if New accepts the options
	}{
		"nothing wrong":  {func(*agent.Options) {}, ""},
		"no client":      {func(o *agent.Options) { o.Client = nil }, "Options.Client is missing"},
		"no environment": {func(o *agent.Options) { o.Env = nil }, "Options.Env is missing"},
		"no profile": {func(o *agent.Options) { o.Profile, o.Model = profile.Profile{}, "m" },
			"take one of the packages profile/anthropic"},
		"tools instead": {func(o *agent.Options) {
			o.Profile, o.Provider, o.Model, o.Tools = profile.Profile{}, "test", "m", named("x")
		}, ""},
		"system instead": {func(o *agent.Options) {
			o.Profile, o.Provider, o.Model, o.System = profile.Profile{}, "test", "m", "Work."
		}, ""},
		"no model": {func(o *agent.Options) { o.Profile.Model = "" }, "set Options.Model"},
		"unknown provider": {func(o *agent.Options) { o.Profile.Provider = "elsewhere" },
			`or else the profile's: unknown provider "elsewhere"; the client has test, other`},
		"no provider": {func(o *agent.Options) { o.Profile.Provider = "" },
			"the client has no default: set Provider to one of test, other"},
		"a client without any": {func(o *agent.Options) { o.Client = &llm.Client{} }, "the client has no providers"},
		"provider of compactions": {func(o *agent.Options) { o.Compaction.Provider = "elsewhere" },
			`Options.Compaction: unknown provider "elsewhere"`},
		"fallback of no provider": {addFallback("elsewhere", "m", 0),
			`Options.Fallbacks.Models[0]: unknown provider "elsewhere"; the client has test, other`},
		"fallback of no model": {addFallback("test", "", 0), "Options.Fallbacks.Models[0] names no model"},
		"fallback's window": {addFallback("test", "m", -1),
			"Options.Fallbacks.Models[0]: Window cannot be negative"},
		"fallback": {addFallback("", "m", 0), ""},
		"fallback without a price": {func(o *agent.Options) {
			addFallback("other", "m", 0)(o)
			o.Budget.USD = 1
			o.Client.Models = func(p, _ string) (llm.Model, bool) {
				return llm.Model{Prices: []llm.Price{{Input: 1}}},
					p == "test"
			}
		}, "(of the fallback other/m)"},
		"tool with a space": {func(o *agent.Options) { o.Tools = named("read file") },
			`tool "read file": its name has to begin with a letter`},
		"tool with a dot": {func(o *agent.Options) { o.Profile.Tools = named("fs.read") },
			`tool "fs.read": its name`},
		"tool with a digit first": {func(o *agent.Options) { o.Tools = named("7zip") }, `tool "7zip": its name`},
		"tool with a dash first":  {func(o *agent.Options) { o.Tools = named("-x") }, `tool "-x": its name`},
		"tool beyond ASCII":       {func(o *agent.Options) { o.Tools = named("größe") }, `its name`},
		"tool of 65":              {func(o *agent.Options) { o.Tools = named(strings.Repeat("x", 65)) }, `at most 64`},
		"tool of 64":              {func(o *agent.Options) { o.Tools = named("_" + strings.Repeat("X-1", 21)) }, ""},
		"an array as schema": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(
				`{"type":"array"}`)}
		}, `"type": "object"`},
		"a string as schema": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(
				`{"type":"string"}`)}
		}, `"type": "object"`},
		"several types": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(
				`{"type":["object","null"]}`)}
		}, `"type": "object"`},
		"no type": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(
				`{"properties":{}}`)}
		}, `"type": "object"`},
		"true as schema": {func(o *agent.Options) { o.Result = &agent.ResultPolicy{Schema: []byte(`true`)} },
			`a JSON object, and is "true"`},
		"null as schema": {func(o *agent.Options) { o.Result = &agent.ResultPolicy{Schema: []byte(`null`)} },
			`a JSON object, and is "null"`},
		"a schema of no JSON": {func(o *agent.Options) { o.Result = &agent.ResultPolicy{Schema: []byte(`{`)} },
			`a JSON object, and is "{"`},
		"an empty schema": {func(o *agent.Options) { o.Result = &agent.ResultPolicy{Schema: []byte{}} },
			`a JSON object, and is ""`},
		"a type that is none": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(
				`{"type":"object","properties":{"a":{"type":"array","items":{"type":"str"}}}}`)}
		}, `"str" is no type of JSON Schema; the types are object, array`},
		"a property that is no schema": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(`{"type":"object","properties":{"a":3}}`)}
		},
			"properties cannot be a JSON number"},
		"a reference to nothing": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(`{"type":"object","properties":{"a":{"$ref":"#/no"}}}`)}
		}, "Result.Schema"},
		"a property named type": {func(o *agent.Options) {
			o.Result = &agent.ResultPolicy{Schema: []byte(`{"type":"object","properties":{"type":{"type":"string"}}}`)}
		}, ""},
		"options that are a list": {func(o *agent.Options) { o.Request.ProviderOptions = []byte(`[1]`) },
			`Options.Request.ProviderOptions has to be one JSON object, and is "[1]"`},
		"options that are null": {func(o *agent.Options) { o.Request.ProviderOptions = []byte(`null`) },
			"one JSON object"},
		"options that are two": {func(o *agent.Options) { o.Request.ProviderOptions = []byte(`{} {}`) },
			"one JSON object"},
		"options of the profile": {func(o *agent.Options) { o.Profile.Options = []byte(`"x"`) },
			"Options.Profile.Options has to be one JSON object"},
		"negative rounds": {func(o *agent.Options) { o.MaxToolRounds = -1 },
			"Options.MaxToolRounds cannot be negative"},
		"negative turns and tokens": {func(o *agent.Options) { o.MaxTurns, o.Request.MaxTokens = -1, -1 },
			"Options.MaxTurns, Options.Request.MaxTokens cannot be negative"},
		"negative budgets": {func(o *agent.Options) { o.Budget = agent.Budget{Tokens: -1, USD: -1, Time: -1} },
			"Options.Budget.Time, Options.Budget.Tokens, Options.Budget.USD"},
		"a budget of NaN": {func(o *agent.Options) { o.Budget.USD = math.NaN() }, "Options.Budget.USD"},
		"negative grace":  {func(o *agent.Options) { o.Grace = -time.Second }, "Options.Grace"},
		"negative delays": {func(o *agent.Options) { o.Retry = llm.RetryPolicy{Base: -1, Cap: -1} },
			"Options.Retry.Base, Options.Retry.Cap"},
		"no retries":               {func(o *agent.Options) { o.Retry.Max = -1 }, ""},
		"negative window of loops": {func(o *agent.Options) { o.Loops.Window = -1 }, "Options.Loops.Window"},
		"negative turns to keep": {func(o *agent.Options) { o.Compaction.KeepTurns = -1 },
			"Options.Compaction.KeepTurns"},
		"negative depth": {func(o *agent.Options) {
			o.Subagents = &agent.Subagents{Depth: -1, MaxRunning: -1}
		}, "Options.Subagents.Depth, Options.Subagents.MaxRunning"},
		"a threshold of 85": {func(o *agent.Options) { o.Compaction.Threshold = 85 }, "a share of the window"},
		"negative temperature": {func(o *agent.Options) { o.Request.Temperature = number(-0.1) },
			"Options.Request.Temperature"},
		"temperature 0":    {func(o *agent.Options) { o.Request.Temperature = number(0) }, ""},
		"an unknown limit": {func(o *agent.Options) { o.OnLimit = "stop" }, "Options.OnLimit"},
		"a choice of no tool": {func(o *agent.Options) {
			o.Tools, o.Request.ToolChoice = named("x"), llm.ToolChoice{Mode: llm.ToolNamed, Name: "y"}
		}, `the tool "y", which the session does not have; it has x`},
		"MaxConfirms alone": {func(o *agent.Options) { o.MaxConfirms = 2 }, "Options.BeforeStop, which is missing"},
		"another directory": {func(o *agent.Options) { o.Dir = "/elsewhere" },
			"Options.Dir is /elsewhere, but Options.Env works in " + envtest.MemoryDir},
	} {
		t.Run(name, func(t *testing.T) {
			o, log, events := validOptions(), new(journal.Memory), 0
			o.Journal, o.OnEvent = log, func(agent.Event) { events++ }
			c.change(&o)
			s, err := agent.New(context.Background(), o)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "agent: ") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("New = %v, want %s", err, c.want)
			}
			if log.Len() != 0 || events != 0 {
				t.Errorf("%d records, %d events", log.Len(), events)
			}
		})
	}
}

// A policy is checked in a resumed session as in a new one.
func TestI15_ResumeChecksThePolicy(t *testing.T) {
	log := new(journal.Memory)
	o := validOptions()
	o.Journal = log
	s, err := agent.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	records := log.Len()
	o.Compaction.Provider = "elsewhere"
	if _, err := agent.Resume(context.Background(), o); err == nil || !strings.Contains(err.Error(),
		`Options.Compaction: unknown provider "elsewhere"`) {
		t.Errorf("Resume = %v", err)
	}
	if log.Len() != records {
		t.Errorf("%d records were written", log.Len()-records)
	}
}

// Set refuses another provider without a model, before the first record and after it.
func TestI15_SetAProviderWithoutAModel(t *testing.T) {
	other := llmtest.NewProvider("other")
	h := open(t, setup{more: []llm.Provider{other}, steps: []llmtest.Step{llmtest.Text("hi")}})
	same, provider := "test", "other"
	for range 2 { // before the first record, and after it
		if err := h.Set(context.Background(), agent.Settings{Provider: &provider}); err == nil ||
			!strings.Contains(err.Error(), "Settings.Model") {
			t.Errorf("Set = %v", err)
		}
		if err := h.Set(context.Background(), agent.Settings{Provider: &same}); err != nil {
			t.Error(err)
		}
	}
	h.submit(t, "go", agent.ReasonCompleted)
}

// shortJournal returns the journal of a session with one input.
func shortJournal(t *testing.T) *journal.Memory {
	t.Helper()
	log := new(journal.Memory)
	h := open(t, setup{tools: []tool.Tool{echo("x")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Text("hi")}})
	h.submit(t, "hello", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return journal.NewMemory(all(t, log)...)
}

// Resume refuses options that do not match the session in the journal.
func TestI15_ResumeAnother(t *testing.T) {
	log := shortJournal(t)
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(o *agent.Options)
		want   string
	}{
		"another id": {func(o *agent.Options) { o.ID = "another" },
			"the journal holds the session " + state.Header.ID + ", not another"},
		"another directory": {func(o *agent.Options) { o.Env = envtest.NewMemory(nil) },
			"the session worked in " + state.Header.Dir + ", and Options.Env works in " + envtest.MemoryDir +
				": set Options.Dir"},
		"not that directory":        {func(o *agent.Options) { o.Dir = "/elsewhere" }, "Options.Dir is /elsewhere"},
		"an option that is no good": {func(o *agent.Options) { o.MaxTurns = -1 }, "Options.MaxTurns"},
		"no environment":            {func(o *agent.Options) { o.Env = nil }, "Options.Env is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			o := validOptions()
			o.Journal, o.ID, o.Env = log, state.Header.ID, inDir{dir: state.Header.Dir}
			c.change(&o)
			if _, err := agent.Resume(context.Background(), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Resume = %v, want %s", err, c.want)
			}
		})
	}
}

// A session that is resumed in another directory tells the model once, in a turn after the new
// task. The journal keeps that, and the session can be resumed there.
func TestI15_AnotherDirectory(t *testing.T) {
	log := shortJournal(t)
	resume := func(dir string, steps ...llmtest.Step) *host {
		return open(t, setup{tools: []tool.Tool{echo("x")}, steps: steps, options: agent.Options{Journal: log, Dir: dir,
			Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}})
	}
	h := resume("/elsewhere", llmtest.Text("done"), llmtest.Text("a summary"), llmtest.Text("again"))
	if start := only[*agent.SessionStart](h)[0]; start.Dir != "/elsewhere" {
		t.Errorf("SESSION_START has %s", start.Dir)
	}
	if log.Len() != int64(len(all(t, shortJournal(t))))+2 {
		t.Error("a resume writes something else than the policy and the directory")
	}
	h.submit(t, "go", agent.ReasonCompleted)
	messages := h.model.Requests()[0].Messages
	if len(messages) != 5 || messages[3].Parts.Text() != "go" || !strings.Contains(messages[4].Parts.Text(),
		"Working directory: /elsewhere\n") {
		t.Errorf("messages %+v", messages)
	}
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	request := h.model.Requests()[2]
	if text := request.Messages[1].Parts.Text(); !strings.Contains(text, "a summary") ||
		!strings.Contains(text, "Working directory: /elsewhere\n") {
		t.Errorf("after a compaction: %s", text)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	records := all(t, log)
	if err := agent.Replay(context.Background(), journal.NewMemory(records...), agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
	log = journal.NewMemory(records...)
	h = resume("", llmtest.Text("still there")) // in its latest directory
	h.submit(t, "go", agent.ReasonCompleted)
	state, err := agent.Load(context.Background(), log)
	if err != nil || state.Dir() != "/elsewhere" ||
		strings.Count(h.turns(), "note") != strings.Count(h.turns()[:strings.LastIndex(h.turns(), "user")], "note") {
		t.Errorf("%v, %s, %s", err, state.Dir(), h.turns())
	}
}

// A resume warns of options that a resumed session ignores, and of tools that are missing.
func TestI15_IgnoredOptions(t *testing.T) {
	log := shortJournal(t)
	hot := 0.5
	h := open(t, setup{options: agent.Options{Journal: log, Instructions: "Be brief.",
		Request: agent.RequestOptions{MaxTokens: 7, Temperature: &hot, NoCache: true,
			ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}, ProviderOptions: json.RawMessage(`{"a":1}`)}}})
	w := only[*agent.Warning](h)
	if len(w) != 2 || w[0].Code != "options_ignored" || !strings.HasSuffix(w[0].Text,
		": Request.ToolChoice, Request.MaxTokens, Request.Temperature, Request.ProviderOptions, Request.NoCache.") ||
		w[1].Code != "tools_missing" || !strings.Contains(w[1].Text, ": x.") {
		t.Errorf("warnings %+v %+v", w[0], w[1:])
	}
	same := shortJournal(t)
	h = open(t, setup{tools: []tool.Tool{echo("x")}, options: agent.Options{Journal: same}})
	if h.warned() != "" {
		t.Errorf("warnings %s", h.warned())
	}
}

// A session can be resumed although the client lacks its provider, since Set may choose another.
// The host is warned.
func TestI15_ResumeWithoutTheProvider(t *testing.T) {
	var warned []string
	o := validOptions()
	o.Journal, o.Dir = shortJournal(t), o.Env.WorkDir()
	o.Client = &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("other", llmtest.Text("hi again"))}}
	o.OnEvent = func(ev agent.Event) {
		if w, ok := ev.(*agent.Warning); ok {
			warned = append(warned, w.Code)
		}
	}
	s, err := agent.Resume(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !slices.Contains(warned, "provider_missing") {
		t.Errorf("warned %q", warned)
	}
	provider, model := "other", "m"
	if err := s.Set(context.Background(), agent.Settings{Provider: &provider, Model: &model}); err != nil {
		t.Fatal(err)
	}
	if result, err := s.Submit(context.Background(), "go"); err != nil || result.Text != "hi again" {
		t.Errorf("Submit = %+v, %v", result, err)
	}
}

// Resume changes the settings that it is told to, and says no word of what they replace. Settings
// that cannot be are its error.
func TestI15_ResumeWithOtherSettings(t *testing.T) {
	var warned []string
	provider, model, nobody := "other", "m", "nobody"
	o := validOptions()
	o.Journal, o.Dir = shortJournal(t), o.Env.WorkDir()
	o.Client = &llm.Client{Providers: []llm.Provider{llmtest.NewProvider(provider, llmtest.Text("hi again"))}}
	o.OnEvent = func(ev agent.Event) {
		if w, ok := ev.(*agent.Warning); ok {
			warned = append(warned, w.Code)
		}
	}
	o.Next = agent.Settings{Provider: &nobody, Model: &model}
	if _, err := agent.Resume(context.Background(), o); err == nil || !strings.Contains(err.Error(),
		`unknown provider "nobody"`) {
		t.Errorf("Resume: %v", err)
	}
	warned, o.Next.Provider = nil, &provider
	s, err := agent.Resume(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if slices.Contains(warned, "provider_missing") {
		t.Errorf("warned %q", warned)
	}
	if result, err := s.Submit(context.Background(), "go"); err != nil || result.Text != "hi again" {
		t.Errorf("Submit = %+v, %v", result, err)
	}
}
