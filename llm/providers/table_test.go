package providers_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
)

// expected describes what the server of a provider sees, with a key and the variables of the URL
// set, and what it refuses as the real one does by its documents and by public reports.
type expected struct {
	url     string // of a request, with the model of the test
	header  string // that has the key
	model   string // empty means the first of the catalog, else some-model
	sends   string // a header with the key of the cache
	refuses []string
	needs   []string // patterns that every request with the history of a call has
	member  string   // of reasoning, in Chat Completions; empty means reasoning_content
	counts  bool     // usage comes unasked
}

const bearer, strictID = "Authorization", `"id":"[a-zA-Z0-9]{9}"`

func table() map[string]expected {
	return map[string]expected{
		"anthropic": {url: "https://api.anthropic.com/v1/messages", header: "X-Api-Key"},
		"openai":    {url: "https://api.openai.com/v1/responses", header: bearer},
		"gemini": {url: "https://generativelanguage.googleapis.com/v1beta/models/MODEL",
			header: "X-Goog-Api-Key"},
		"openai-compatible": {url: "https://models.example/v1/chat/completions", header: bearer},
		"openrouter": {url: "https://openrouter.ai/api/v1/chat/completions", header: bearer,
			model: "openai/gpt-oss-120b", member: "reasoning"},
		"openrouter, Claude": {url: "https://openrouter.ai/api/v1/messages", header: bearer,
			model: "anthropic/claude-sonnet-5.5", needs: []string{`"cache_control"`}},
		"xai": {url: "https://api.x.ai/v1/responses", header: bearer,
			refuses: []string{`"instructions":`}, needs: []string{`"role":"system"`}},
		"deepseek": {url: "https://api.deepseek.com/chat/completions", header: bearer,
			needs: []string{`"reasoning_content":"[^"]`, `"reasoning_content":""`}},
		"mistral": {url: "https://api.mistral.ai/v1/chat/completions", header: bearer,
			refuses: []string{`"stream_options"`, `"max_completion_tokens"`, `"prompt_cache_key"`},
			needs: []string{strictID,
				`"tool_call_id":"[a-zA-Z0-9]{9}"`}, counts: true},
		"moonshotai": {url: "https://api.moonshot.ai/v1/chat/completions", header: bearer,
			needs: []string{`"reasoning_content":""`, `"prompt_cache_key":"session"`}},
		"zai":     {url: "https://api.z.ai/api/coding/paas/v4/chat/completions", header: bearer},
		"minimax": {url: "https://api.minimax.io/anthropic/v1/messages", header: bearer, refuses: []string{`"ttl"`}},
		"azure":   {url: "https://mine.openai.azure.com/openai/v1/responses", header: bearer},
		"amazon-bedrock": {url: "https://bedrock-mantle.eu-central-1.api.aws/v1/chat/completions", header: bearer,
			model: "openai.gpt-oss-120b"},
		"amazon-bedrock, Claude": {url: "https://bedrock-mantle.eu-central-1.api.aws/anthropic/v1/messages",
			header: bearer, model: "anthropic.claude-sonnet-5-5", needs: []string{`"cache_control"`}},
		"google-vertex": {url: "https://aiplatform.googleapis.com/v1/publishers/google/models/MODEL",
			header: "X-Goog-Api-Key"},
		"groq": {url: "https://api.groq.com/openai/v1/chat/completions", header: bearer, member: "reasoning",
			refuses: []string{`"reasoning":`, `"reasoning_content":`}},
		"cerebras": {url: "https://api.cerebras.ai/v1/chat/completions", header: bearer, member: "reasoning",
			refuses: []string{`"reasoning_content":`, `"store"`, `"thinking":`}},
		"together": {url: "https://api.together.ai/v1/chat/completions", header: bearer, member: "reasoning"},
		"fireworks": {url: "https://api.fireworks.ai/inference/v1/chat/completions", header: bearer,
			sends: "X-Session-Affinity"},
		"huggingface": {url: "https://router.huggingface.co/v1/chat/completions", header: bearer},
		"nvidia":      {url: "https://integrate.api.nvidia.com/v1/chat/completions", header: bearer},
		"baseten":     {url: "https://inference.baseten.co/v1/chat/completions", header: bearer},
		"vercel-ai-gateway": {url: "https://ai-gateway.vercel.sh/v1/messages", header: bearer,
			needs: []string{`"cache_control"`}},
		"ollama":   {url: "http://localhost:11434/v1/chat/completions", member: "reasoning"},
		"lmstudio": {url: "http://localhost:1234/v1/chat/completions", header: bearer},
		"vllm":     {url: "http://localhost:8000/v1/chat/completions", header: bearer},
		"llamacpp": {url: "http://localhost:8080/v1/chat/completions", header: bearer},
	}
}

func surroundings(name string) string {
	switch name {
	case "AZURE_OPENAI_RESOURCE_NAME":
		return "mine"
	case "AWS_REGION":
		return "eu-central-1"
	case "OPENAI_COMPATIBLE_BASE_URL":
		return "https://models.example/v1"
	}
	if strings.HasSuffix(name, "_KEY") || name == "HF_TOKEN" || name == "AWS_BEARER_TOKEN_BEDROCK" {
		return testKey
	}
	return ""
}

// strictServer is the scripted model behind a server that refuses what the real one refuses.
type strictServer struct {
	*testing.T
	expected
	model    *fakellm.Server
	requests int
}

func (s *strictServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Error(err)
	}
	if got := "http://" + r.Host + r.URL.Path; !strings.HasPrefix(got, s.url) {
		s.Errorf("a request to %s, want %s", got, s.url)
	}
	for _, header := range []string{bearer, "X-Api-Key", "X-Goog-Api-Key"} {
		if got := strings.TrimPrefix(r.Header.Get(header), "Bearer "); (got == testKey) != (header == s.header) {
			s.Errorf("the header %s is %q", header, got)
		}
	}
	if s.sends != "" && r.Header.Get(s.sends) != "session" {
		s.Errorf("the header %s is %q", s.sends, r.Header.Get(s.sends))
	}
	for _, member := range s.refuses {
		if bytes.Contains(body, []byte(member)) {
			s.Errorf("the server refuses %s in %s", member, body)
		}
	}
	if s.requests++; s.requests == 2 {
		for _, pattern := range s.needs {
			if !regexp.MustCompile(pattern).Match(body) {
				s.Errorf("%s is not in %s", pattern, body)
			}
		}
	}
	if s.counts {
		body = bytes.Replace(body, []byte(`"stream":true`),
			[]byte(`"stream":true,"stream_options":{"include_usage":true}`), 1)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if s.member != "" {
		w = &renaming{w, s.member}
	}
	s.model.ServeHTTP(w, r)
}

// renaming is a response with another name for the member with the reasoning.
type renaming struct {
	http.ResponseWriter
	member string
}

func (w *renaming) Write(b []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(b, []byte(`"reasoning_content"`), []byte(`"`+w.member+`"`)))
	return len(b), err
}

// Each provider of the table reaches its server with its key, and goes on after calls, its own and
// those of another one, as the server wants it. Reasoning, usage and errors come back.
func TestV1_EachProvider(t *testing.T) {
	for name, want := range table() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(name, ",")
			kind, err := providers.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			if want.model == "" {
				first, _ := catalog.New().Latest(name, "reasoning")
				want.model = cmp.Or(first.ID, "some-model")
			}
			want.url = strings.Replace(strings.Replace(want.url, "MODEL", want.model, 1), "https://", "http://", 1)
			tryProvider(t, kind, want)
		})
	}
	for _, k := range providers.Kinds() {
		if _, ok := table()[k.Name]; !ok {
			t.Errorf("%s is not tried", k.Name)
		}
	}
}

func tryProvider(t *testing.T, kind providers.Kind, want expected) {
	config, set := kind.Config(surroundings)
	if !set {
		t.Fatal("the environment does not configure it")
	}
	turns := []fakellm.Turn{{Thinking: "Let me look.", Calls: []fakellm.Call{{ID: "abcDEF123", Name: "look",
		Args: json.RawMessage(`{}`)}}}, {}, {Text: "Done."}}
	faults := map[int]fakellm.Fault{3: {Kind: fakellm.FaultStatus, Status: 401},
		4: {Kind: fakellm.FaultStatus, Status: 429}, 5: {Kind: fakellm.FaultStatus, Status: 500}}
	server := &strictServer{T: t, expected: want,
		model: fakellm.New(fakellm.Script(turns...), fakellm.Options{Faults: faults})}
	config.HTTPClient = llmtest.PipeClient(t, server)
	config.BaseURL = strings.Replace(config.BaseURL, "https://", "http://", 1)
	p, err := kind.New(config)
	if err != nil {
		t.Fatal(err)
	}
	client := &llm.Client{Providers: []llm.Provider{p}, Models: catalog.New().Get}
	facts, _ := client.Models(kind.Name, want.model)
	req := &llm.Request{Model: want.model, CacheKey: "session", CacheLong: true, MaxTokens: 2000,
		Tools: []llm.ToolDefinition{{Name: "look",
			Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Messages: []llm.Message{llm.System("Be brief."), llm.User("Look.")}}
	if slices.Contains(facts.Efforts, "high") || facts.ID == "" {
		req.Effort = "high"
	}
	first, err := client.Complete(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if first.Reasoning() != "Let me look." || len(first.ToolCalls()) != 1 || first.Usage.Input == 0 {
		t.Errorf("the first response is %+v", first)
	}
	foreign := llm.Message{Role: llm.RoleAssistant, Provider: "another", Model: "m",
		Parts: llm.Parts{llm.ToolCall{ID: "toolu_of-another", Name: "look", Args: "{}"}}}
	req.Messages = append(req.Messages, foreign, looked("toolu_of-another"), first.Message,
		looked(first.ToolCalls()[0].ID))
	second, err := client.Complete(t.Context(), req)
	if err != nil || second.Text() != "Done." {
		t.Fatalf("after the calls: %+v, %v", second, err)
	}
	for _, kind := range []error{llm.ErrAuthentication, llm.ErrRateLimit, llm.ErrServer} {
		if _, err := client.Complete(t.Context(), req); !errors.Is(err, kind) ||
			strings.Contains(err.Error(), testKey) {
			t.Errorf("the error is %v, want %v", err, kind)
		}
	}
}

func looked(call string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: llm.Parts{llm.ToolResult{CallID: call, Name: "look",
		Content: llm.TextParts("nothing")}}}
}

// The prompts of Claude are marked for the cache on each way to it as on Anthropic's own.
func TestV4_EachWayToClaudeIsCached(t *testing.T) {
	marks := map[string]int{}
	for provider, model := range map[string]string{"anthropic": "claude-sonnet-5-5",
		"openrouter": "anthropic/claude-sonnet-5.5", "amazon-bedrock": "anthropic.claude-sonnet-5-5",
		"vercel-ai-gateway": "anthropic/claude-sonnet-5.5"} {
		kind, err := providers.Find(provider)
		if err != nil {
			t.Fatal(err)
		}
		server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
		base := "http://" + map[string]string{"openrouter": "openrouter.ai/api/v1",
			"amazon-bedrock": "bedrock-mantle.us-east-1.api.aws/v1"}[provider]
		if base == "http://" {
			base += "claude.example"
		}
		p, err := kind.New(providers.Config{APIKey: testKey, BaseURL: base, HTTPClient: llmtest.PipeClient(t, server)})
		if err != nil {
			t.Fatal(err)
		}
		client := &llm.Client{Providers: []llm.Provider{p}}
		_, err = client.Complete(t.Context(), &llm.Request{Model: model, Messages: []llm.Message{
			llm.System("Be brief."), llm.User("One."), {Role: llm.RoleAssistant, Parts: llm.TextParts("1")},
			llm.User("Two.")},
			Tools: []llm.ToolDefinition{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		marks[provider] = bytes.Count(server.Requests()[0].Body, []byte(`"cache_control":{"type":"ephemeral"}`))
	}
	for provider, n := range marks {
		if n != 4 {
			t.Errorf("%s: %d marks in the request, want those of the system prompt, the tools and two messages",
				provider, n)
		}
	}
}

// No command of a session gets the key of a provider, whatever else it gets. The token of Hugging
// Face serves other programs, too.
func TestV1_CommandsGetNoKeys(t *testing.T) {
	for _, k := range providers.Kinds() {
		for _, name := range k.KeyVars {
			if kept := env.FilterVars(env.VarsAll, []string{name + "=secret"}, nil); len(kept) > 0 &&
				name != "HF_TOKEN" {
				t.Errorf("commands get %s", kept)
			}
		}
	}
}

// A program that was not told which provider to use takes one of the usual keys first, then a
// server of the user's own, then any other key.
func TestV1_Candidates(t *testing.T) {
	for _, tt := range []struct {
		vars []string
		want string
	}{
		{nil, ""},
		{[]string{"GROQ_API_KEY=k"}, "groq"},
		{[]string{"GROQ_API_KEY=k", "ANTHROPIC_API_KEY=k", "HF_TOKEN=k"}, "anthropic"},
		{[]string{"GROQ_API_KEY=k", "OPENAI_COMPATIBLE_BASE_URL=http://x.example/v1"}, "openai-compatible"},
		{[]string{"GROQ_API_KEY=k", "HF_TOKEN=k"}, "groq huggingface"},
		{[]string{"AWS_REGION=us-east-1", "VLLM_API_KEY=k"}, ""},
		{[]string{"AWS_BEARER_TOKEN_BEDROCK=k"}, ""},
		{[]string{"AWS_BEARER_TOKEN_BEDROCK=k", "AWS_DEFAULT_REGION=us-east-1"}, "amazon-bedrock"},
		{[]string{"AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_ENDPOINT=https://mine.example/"}, "azure"},
	} {
		var names []string
		for _, k := range providers.Candidates(environment(tt.vars...)) {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("with %v: %q, want %q", tt.vars, got, tt.want)
		}
	}
	azure, err := providers.Find("azure")
	if err != nil {
		t.Fatal(err)
	}
	config, _ := azure.Config(environment("AZURE_OPENAI_API_KEY=k", "AZURE_OPENAI_ENDPOINT=https://mine.example/"))
	if config.BaseURL != "https://mine.example/openai/v1" || azure.Profile != "openai" {
		t.Errorf("the URL is %s, the profile %s", config.BaseURL, azure.Profile)
	}
	if _, err := azure.New(providers.Config{APIKey: "k"}); !errors.Is(err, llm.ErrConfiguration) ||
		!strings.Contains(err.Error(), "AZURE_OPENAI_ENDPOINT") {
		t.Errorf("without the resource: %v", err)
	}
}
