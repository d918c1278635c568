package catalog_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
)

func TestG10_BuiltinFactsAreSound(t *testing.T) {
	models := catalog.New().List("")
	if len(models) < 1000 {
		t.Fatalf("%d models: a file is broken", len(models))
	}
	seen := map[string]bool{}
	for _, m := range models {
		for _, id := range append([]string{m.ID}, m.Aliases...) {
			if key := m.Provider + "/" + id; seen[key] {
				t.Errorf("%s is there twice", key)
			} else {
				seen[key] = true
			}
		}
		if m.Window <= 0 || m.MaxWindow != 0 && m.MaxWindow <= m.Window || m.MaxOutput <= 0 || m.MaxOutput > m.Window ||
			len(m.Input) == 0 {
			t.Errorf("%s/%s: window %d, output %d, input %v", m.Provider, m.ID, m.Window, m.MaxOutput, m.Input)
		}
		above := -1
		for _, p := range m.Prices {
			if free := strings.HasSuffix(m.ID, ":free"); p.Input <= 0 && !free || p.Output < p.Input ||
				p.Above <= above {
				t.Errorf("%s/%s: price %+v", m.Provider, m.ID, p)
			}
			above = p.Above
		}
	}
}

func TestG10_NumbersThatCannotBeTrue(t *testing.T) {
	for _, wrong := range []string{`"context_window": -5`, `"prices": [{"input": -1, "output": 2}]`} {
		text := `[{"provider": "acme", "id": "m", ` + wrong + `}]`
		if _, err := catalog.New().Read(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), "from 0 on") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestG10_Get(t *testing.T) {
	c := catalog.New()
	if m, ok := c.Get("anthropic", "claude-sonnet-4-5-20250929"); !ok || m.ID != "claude-sonnet-4-5" {
		t.Errorf("an alias gives %+v, %v", m, ok)
	}
	if _, ok := c.Get("openai", "claude-sonnet-4-5"); ok {
		t.Error("another provider's model was found")
	}
	if _, ok := c.Get("anthropic", "claude-of-tomorrow"); ok {
		t.Error("an unknown model was found")
	}
}

func TestG10_Latest(t *testing.T) {
	c := catalog.New()
	for _, tt := range []struct {
		provider string
		needs    []string
		want     string
	}{
		{"anthropic", nil, "claude-opus-5-5"},
		{"openai", []string{"reasoning", "image"}, "gpt-6.2-sol"},
		{"groq", []string{"reasoning"}, "openai/gpt-oss-120b"},
		{"gemini", []string{"audio"}, "gemini-4-argon"},
		{"gemini", []string{"smell"}, ""},
		{"acme", nil, ""},
	} {
		if m, _ := c.Latest(tt.provider, tt.needs...); m.ID != tt.want {
			t.Errorf("Latest(%s, %v) = %q, want %q", tt.provider, tt.needs, m.ID, tt.want)
		}
	}
}

func TestG10_Override(t *testing.T) {
	c, err := catalog.New().Read(strings.NewReader(`[
		{"id": "claude-opus-5-5", "provider": "anthropic", "context_window": 5, "max_output": 1},
		{"id": "mine", "provider": "anthropic", "context_window": 7}]`))
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := c.Get("anthropic", "claude-opus-5-5"); m.Window != 5 || m.Prices != nil {
		t.Errorf("the override is %+v", m)
	}
	if m, _ := c.Latest("anthropic"); m.ID != "mine" {
		t.Errorf("the newest is %q", m.ID)
	}
	if m, _ := catalog.New().Get("anthropic", "claude-opus-5-5"); m.Window == 5 {
		t.Error("the override changed the built-in catalog")
	}
	for _, bad := range []string{`{}`, `[{"id": "x"}]`, `[{"id":"x","provider":"y","windw":1}]`, `[`} {
		if _, err := catalog.New().Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestG10_CostByTier(t *testing.T) {
	m, _ := catalog.New().Get("anthropic", "claude-haiku-5-5")
	for _, tt := range []struct {
		usage llm.Usage
		want  float64
	}{
		{llm.Usage{Input: 100_000, Output: 1_000_000}, 0.01 + 0.5},
		{llm.Usage{Input: 200_000, CacheRead: 100_000, CacheWrite: 50_000, Output: 1000},
			(50_000*0.5 + 100_000*0.05 + 50_000*0.625 + 1000*2.5) / 1e6},
	} {
		if got, ok := m.Cost(tt.usage); !ok || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("Cost(%+v) = %v, %v, want %v", tt.usage, got, ok, tt.want)
		}
	}
	unknown := llm.Model{}
	if _, ok := unknown.Cost(llm.Usage{Input: 1}); ok {
		t.Error("a model without prices has a cost")
	}
}

// The library's files are decoded once, without errors and unknown members.
func TestK1_FilesAreDecodedOnce(t *testing.T) {
	elsewhere := cmpopts.IgnoreFields(llm.Model{}, "WebSearch") // the price of a vendor, not of a model
	files, err := filepath.Glob("models/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := new(catalog.Catalog).Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(name, err)
		}
		provider := strings.TrimSuffix(filepath.Base(name), ".json")
		if diff := cmp.Diff(plain.List(""), catalog.New().List(provider), elsewhere); diff != "" {
			t.Error(diff)
		}
	}
	if n := testing.AllocsPerRun(10, func() { catalog.New().Get("anthropic", "claude-sonnet-5-5") }); n > 10 {
		t.Errorf("a catalog and a look into it make %v allocations: models were decoded again", n)
	}
}

// A web search has its vendor's price. Models and providers without one have none.
func TestV7_SearchPrices(t *testing.T) {
	c := catalog.New()
	for name, want := range map[string]float64{
		"anthropic/claude-sonnet-4-5": 0.01, "anthropic/claude-opus-4-5-20251101": 0.01, "openai/gpt-5.4": 0.01,
		"openai/gpt-4.1-nano": 0, "gemini/gemini-3-flash-preview": 0.014, "gemini/gemini-pro-latest": 0.014,
		"gemini/gemini-2.5-pro": 0, "gemini/gemma-4-31b-it": 0,
	} {
		provider, id, _ := strings.Cut(name, "/")
		m, ok := c.Get(provider, id)
		if !ok || m.WebSearch != want {
			t.Errorf("%s: %v, known %v, want %v", name, m.WebSearch, ok, want)
		}
	}
	for _, m := range c.List("") {
		if m.WebSearch > 0 && m.Provider != "anthropic" && m.Provider != "openai" && m.Provider != "gemini" {
			t.Errorf("%s/%s has a search", m.Provider, m.ID)
		}
	}
}
