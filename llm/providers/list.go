package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// List requests the server's list of models and returns it in the server's order: the ids, and from
// some servers also windows, output limits, modalities and prices. Everything else has its zero
// value. A server without a list is an [llm.ErrNotFound] or an [llm.ErrUnsupported].
func (k Kind) List(ctx context.Context, c Config) ([]llm.Model, error) {
	switch {
	case k.addressURL != nil:
		c.BaseURL = k.addressURL(c.BaseURL)
	case c.BaseURL == "":
		c.BaseURL = k.URL(unset)
	}
	if k.publisher != "" {
		return nil, llm.Errorf(llm.ErrUnsupported, "%s does not list its models for a key", k.Name)
	}
	own, at := map[string]string{"Authorization": api.Bearer(c.APIKey)}, []string{"models"}
	switch k.Format {
	case Messages:
		if !k.bearer {
			own = map[string]string{"X-Api-Key": c.APIKey}
		}
		own["Anthropic-Version"], at = "2023-06-01", []string{"v1", "models"}
	case GenerateContent:
		own, at = map[string]string{"X-Goog-Api-Key": c.APIKey}, []string{"v1beta", "models"}
	}
	header, err := k.headerOf(c)
	if err != nil {
		return nil, err
	}
	call, base, err := api.Config{Name: k.Name, Key: c.APIKey, BaseURL: c.BaseURL, Client: c.HTTPClient,
		Timeouts: api.Timeouts{Idle: c.IdleTimeout}, Own: own, Header: header}.Call()
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/"+at[0]) { // the version may stand there
		at = at[1:]
	}
	u := base.JoinPath(at...)
	if k.Format == GenerateContent || k.Format == Messages {
		q := u.Query()
		q.Set(map[Format]string{GenerateContent: "pageSize", Messages: "limit"}[k.Format], "1000")
		u.RawQuery = q.Encode()
	}
	call.Method, call.URL = http.MethodGet, u.String()
	resp, err := call.Do(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	body, err := resp.ReadAll()
	if err != nil {
		return nil, err
	}
	return k.listed(body)
}

// listed decodes a list of models, which has one of three forms.
func (k Kind) listed(body []byte) (models []llm.Model, err error) {
	var list struct {
		Data   []wireModel `json:"data"`
		Models []wireModel `json:"models"`
	}
	if json.Unmarshal(body, &list.Data) != nil { // it is no array
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, llm.Errorf(llm.ErrStream, "the list of models cannot be decoded: %v", err)
		}
	}
	for _, w := range append(list.Data, list.Models...) {
		id := cmp.Or(w.ID, strings.TrimPrefix(w.Name, "models/"))
		if id != "" {
			models = append(models, w.model(k.Name, id))
		}
	}
	return models, nil
}

// wireModel is an entry of a list, with the names of all servers.
type wireModel struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`

	ContextLength    int `json:"context_length"`     // OpenRouter, Together, Moonshot
	ContextWindow    int `json:"context_window"`     // Groq
	MaxContextLength int `json:"max_context_length"` // Mistral, LM Studio
	MaxModelLen      int `json:"max_model_len"`      // vLLM
	InputTokenLimit  int `json:"inputTokenLimit"`    // Google
	MaxInputTokens   int `json:"max_input_tokens"`   // Anthropic
	Meta             struct {
		Context int `json:"n_ctx"` // llama.cpp
	} `json:"meta"`

	MaxCompletionTokens int `json:"max_completion_tokens"`
	MaxOutputTokens     int `json:"max_output_tokens"`
	OutputTokenLimit    int `json:"outputTokenLimit"`
	TopProvider         struct {
		MaxCompletionTokens int `json:"max_completion_tokens"`
	} `json:"top_provider"`

	Architecture struct {
		InputModalities []string `json:"input_modalities"`
	} `json:"architecture"`
	Parameters []string    `json:"supported_parameters"`
	Pricing    wirePricing `json:"pricing"`
}

// wirePricing has OpenRouter's prices, in dollars per token, as texts. Those of others have other
// forms and are not taken.
type wirePricing struct{ Prompt, Completion, CacheRead, CacheWrite float64 }

// UnmarshalJSON never fails.
func (p *wirePricing) UnmarshalJSON(data []byte) error {
	var w struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		CacheRead  string `json:"input_cache_read"`
		CacheWrite string `json:"input_cache_write"`
	}
	if json.Unmarshal(data, &w) != nil {
		return nil
	}
	for to, text := range map[*float64]string{&p.Prompt: w.Prompt, &p.Completion: w.Completion,
		&p.CacheRead: w.CacheRead, &p.CacheWrite: w.CacheWrite} {
		perToken, err := strconv.ParseFloat(text, 64)
		if err == nil && perToken >= 0 {
			*to = math.Round(perToken*1e12) / 1e6
		}
	}
	return nil
}

// model returns what the server says of a model.
func (w *wireModel) model(provider, id string) llm.Model {
	m := llm.Model{ID: id, Provider: provider, Name: w.DisplayName,
		Window: cmp.Or(w.ContextLength, w.ContextWindow, w.MaxContextLength, w.MaxModelLen, w.InputTokenLimit,
			w.MaxInputTokens, w.Meta.Context),
		MaxOutput: cmp.Or(w.TopProvider.MaxCompletionTokens, w.MaxCompletionTokens, w.MaxOutputTokens,
			w.OutputTokenLimit),
		// without a list of parameters an effort may be one of them
		Reasoning: w.Parameters == nil || slices.Contains(w.Parameters, "reasoning")}
	for _, modality := range w.Architecture.InputModalities {
		if modality == "file" {
			modality = "document"
		}
		m.Input = append(m.Input, modality)
	}
	p := w.Pricing
	if p.Prompt > 0 || p.Completion > 0 || strings.HasSuffix(id, ":free") {
		m.Prices = []llm.Price{{Input: p.Prompt, Output: p.Completion, CacheRead: p.CacheRead,
			CacheWrite: p.CacheWrite}}
	}
	return m
}
