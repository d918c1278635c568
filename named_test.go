package attractor_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/permit"
)

// A program describes providers by rows, beside those of the user's settings and before them, and
// a session changes between them. The keys are masked.
func TestX6_ProvidersOfAProgram(t *testing.T) {
	o := newOpened(t)
	server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{
		call("shell", `{"command":"echo an-odd-secret-1 another-secret-2; echo $ACME_LLM."}`)}},
		fakellm.Turn{Text: "done"},
		fakellm.Turn{Text: "the other"}), fakellm.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	o.vars["ACME_LLM"] = "an-odd-secret-1"
	o.write("~/.config/attractor/config.json", `{"providers": {
		"acme": {"base_url": "http://127.0.0.1:1"}, "lab": {"base_url": "`+web.URL+
		`/v1", "models": {"m": {"context_window": 9000}}}}}`)
	c := o.config()
	c.Load, c.Mode = attractor.LoadUser, permit.ModeFull
	c.Kinds = []providers.Kind{{Name: "acme", Format: providers.Responses, URLs: []string{web.URL + "/v1"},
		KeyVars: []string{"ACME_LLM"},
		Headers: map[string]string{"X-Auth-Token": "another-secret-2"},
		Body:    json.RawMessage(`{"service_tier":"flex"}`), Model: "coder"}}
	c.Models = []llm.Model{{Provider: "acme", ID: "coder", Window: 65536, Prices: []llm.Price{{Input: 1, Output: 2}}}}
	c.Model = "acme"
	c.Budget = agent.Budget{USD: 1}
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	result, err := session.Submit(t.Context(), "work")
	if err != nil || result.Text != "done" || result.CostUSD == 0 || session.Model() != "acme/coder" {
		t.Fatalf("%+v, %v", result, err)
	}
	r := server.Requests()[0]
	if r.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer an-odd-secret-1" ||
		r.Header.Get("X-Auth-Token") != "another-secret-2" ||
		!strings.Contains(string(r.Body), `"service_tier":"flex"`) {
		t.Errorf("%s %v %s", r.Path, r.Header, r.Body)
	}
	for _, output := range o.results {
		if strings.Contains(output, "secret-") || !strings.HasSuffix(strings.TrimSpace(output), "\n.") {
			t.Errorf("the command shows %q", output)
		}
	}
	var unpriced *agent.UnpricedError
	if err := session.SetModel(t.Context(), "lab/m"); !errors.As(err, &unpriced) || unpriced.Provider != "lab" ||
		unpriced.Model != "m" ||
		!strings.Contains(err.Error(), `{"providers": {"lab": {"models": {"m": {"prices":`) {
		t.Errorf("a budget that cannot be counted: %v", err)
	}
	o.write("~/.config/attractor/config.json", `{"providers": {"lab": {"base_url": "`+web.URL+
		`/v1", "models": {"m": {"prices": [{"input": 1, "output": 2}]}}}}}`)
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if session, err = attractor.Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := session.SetModel(t.Context(), "lab/m"); err != nil {
		t.Error(err)
	}
	if _, err := session.Submit(t.Context(), "work"); err != nil {
		t.Error(err)
	}
	if last := server.Requests()[len(server.Requests())-1]; last.Path != "/v1/chat/completions" || last.Model != "m" {
		t.Errorf("the other provider got %s for %s", last.Path, last.Model)
	}
	c.Load, c.Models = 0, nil
	if _, err := attractor.Open(t.Context(), c); !errors.As(err, &unpriced) || strings.Contains(err.Error(), ".json") ||
		!strings.HasSuffix(err.Error(), "(in Models of attractor.Config)") {
		t.Errorf("a budget of a program without files that cannot be counted: %v", err)
	}
	c.Kinds[0].Body = json.RawMessage(`{"input":[]}`)
	if _, err := attractor.Open(t.Context(), c); !errors.Is(err, attractor.ErrConfig) ||
		!strings.Contains(err.Error(), `"acme" of the configuration: the body`) {
		t.Errorf("a row that cannot be one: %v", err)
	}
}

// The name of a provider in front of a model counts before a provider of a lower place, unless that
// one may have models with a slash, and is left out in front of a model that the provider lists.
func TestX6_ModelsNameProviders(t *testing.T) {
	for _, c := range []struct{ file, flag, want string }{
		{`"provider": "anthropic", "base_url": "http://127.0.0.1:1"`, "openai/gpt-5", "anthropic openai/gpt-5"},
		{`"provider": "anthropic", "profile": "gemini"`, "openai/gpt-5", "openai gpt-5"},
		{`"provider": "anthropic"`, "ollama/hf.co/qwen", "ollama hf.co/qwen"},
		{`"provider": "anthropic"`, "acme/gpt-5", "anthropic acme/gpt-5"},
		{`"provider": "openrouter"`, "openai/gpt-5", "openrouter openai/gpt-5"},
		{`"provider": "lab"`, "openai/gpt-5", "lab openai/gpt-5"},
		{`"provider": "anthropic", "model": "openai/gpt-5"`, "", "anthropic openai/gpt-5"},
		{`"provider": "lab", "model": "lab/m"`, "", "lab m"},
		{`"provider": "lab", "model": "lab/n"`, "", "lab lab/n"},
		{`"provider": "lab", "model": "lab/whole"`, "", "lab lab/whole"},
	} {
		o := newOpened(t)
		delete(o.vars, "ANTHROPIC_BASE_URL") // whose server may have any model
		o.vars["OPENAI_API_KEY"], o.vars["OPENROUTER_API_KEY"] = "none", "none"
		o.write("~/.config/attractor/config.json", `{"providers": {"lab": {"base_url": "http://127.0.0.1:1",
			"models": {"m": {}, "whole": {}, "lab/whole": {}}}}, `+c.file+`}`)
		config := o.config()
		config.Load, config.Model = attractor.LoadUser, ""
		if c.flag != "" {
			config.Settings = []attractor.Setting{{Key: "model", Values: []string{c.flag}, From: "--model"}}
		}
		would, err := config.Would()
		if got := would.Provider + " " + would.Model; err != nil || got != c.want {
			t.Errorf("{%s} and --model %s: %q, want %q; %v", c.file, c.flag, got, c.want, err)
		}
		if would.Provider == "openai" && would.Profile != "openai" {
			t.Errorf("the profile %s stands beside another provider", would.Profile)
		}
	}
}
