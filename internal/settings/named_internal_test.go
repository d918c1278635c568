package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/providers"
)

// settingsOf returns what a file and variables choose.
func settingsOf(t *testing.T, text string, vars map[string]string) ([]Value, error) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, ".config", "attractor", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Users(func(name string) string {
		if name == "HOME" {
			return home
		}
		return vars[name]
	})
}

// A mistake in a provider is told with the line and the member, and never with a key.
func TestX6_MistakesInProviders(t *testing.T) {
	for text, want := range map[string]string{
		`{"providers": []}`: "line 1: providers must be an object of providers, not an array",
		"{\"providers\": {\n\"work\": {\n\"format\": \"openai\", \"base_url\": \"http://x\"}}}": `line 3: providers.work.format must be Chat Completions, Messages, Responses or generateContent, not "openai"`,
		"{\"providers\": {\n\"work\": {\"format\": \"messages\"}}}":                             "line 2: providers.work.base_url is missing",
		"{\"providers\": {\n\"groq\": {\"base_url\": \"http://x\"}}}": "line 2: providers.groq is wrong: groq is " +
			"the name of a provider that is there already",
		`{"providers": {"work": {"base_url": "hunter22"}}}`:                                          "line 1: providers.work.base_url must begin with http:// or https://, followed by a host",
		`{"providers": {"work": {"base_url": "http://x", "api_key": "hunter22"}}}`:                   "providers.work.api_key is no member of a provider: keys are not in files",
		`{"providers": {"work": {"base_url": "http://x", "env_key": "X"}}}`:                          "providers.work.env_key is no member of a provider: write key_variable",
		`{"providers": {"work": {"base_url": "http://x", "baseUrl": "X"}}}`:                          "providers.work.baseUrl is no member of a provider; do you mean base_url?",
		`{"providers": {"work": {"base_url": "http://x", "key_variable": "sk-hunter22"}}}`:           "providers.work.key_variable must be the name of a variable",
		`{"providers": {"work": {"base_url": "http://x", "key_variable": "A", "key_command": "b"}}}`: "providers.work has both key_variable and key_command: remove one",
		"{\"providers\": {\"work\": {\"base_url\": \"http://x\",\n\"headers\": {\"X\":\n 5}}}}": "line 2: " +
			"providers.work.headers.X must be a string, not the number 5",
		`{"providers": {"work": {"base_url": "http://x", "headers": {"X": "hunter22\n"}}}}`:                 "the value of the header X has a line feed",
		`{"providers": {"work": {"base_url": "http://x", "body": {"tools": []}}}}`:                          `the body: provider option "tools" is set by the request itself`,
		`{"providers": {"work": {"base_url": "http://x", "body": 5}}}`:                                      "providers.work.body must be an object, not the number 5",
		"{\"providers\": {\"work\": {\"base_url\": \"http://x\", \"models\": {\n\"m\": {\"window\": 5}}}}}": `line 2: providers.work.models.m is wrong: unknown field "window"; the fields are those of attractor models --json`,
		`{"providers": {"work": {"base_url": "http://x", "models": {"m": {"context_window": "5"}}}}}`:       "providers.work.models.m is wrong: context_window cannot be a string",
		`{"providers": {"work": {"base_url": "http://x", "models": {"m": {"prices": [{"input": -1}]}}}}}`:   "prices are dollars for a million tokens, from 0 on",
		`{"providers": {"work": {"base_url": "http://x", "models": {"m": {"provider": "openai"}}}}}`:        "it has the id or the provider of another model",
		`{"providers": {"work": {"base_url": "http://x"}, "work": {"base_url": "http://y"}}}`:               "providers.work is there twice: remove one",
		`{"provider": "lab", "providers": {"work": {"base_url": "http://x"}}}`:                              "line 1: provider must be anthropic,",
		`{"fallback": ["lab/x"], "providers": {"work": {"base_url": "http://x"}}}`:                          "line 1: fallback must be anthropic,",
	} {
		_, err := settingsOf(t, text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s is told as %v, want %s", text, err, want)
		}
	}
	_, err := settingsOf(t, `{"model": "work/x", "fallback": ["work/y"], "providers": {"work": {"baseurl": "http://x"}}}`, nil)
	if err == nil || strings.Contains(err.Error(), "fallback") {
		t.Errorf("a mistake in a provider that others name: %v", err)
	}
	_, err = settingsOf(t, `{}`, map[string]string{"ATTRACTOR_PROVIDERS": `{"work": {}}`})
	if err == nil || !strings.Contains(err.Error(), "ATTRACTOR_PROVIDERS.work.base_url is missing") {
		t.Errorf("a variable: %v", err)
	}
}

// A provider of the user's own has what the file says, in its order, and a variable is in place of
// the file.
func TestX6_ProvidersAreRead(t *testing.T) {
	const text = `{"providers": {"lab": {"base_url": "http://x/v1"}, "work": {"base_url": "https://${HOST}:${PORT}/v1", "format": "generate_content",
		"key_variable": "WORK_KEY", "headers": {"X-Team": "core"}, "body": {"top_k": 20},
		"models": {"b/2": {"context_window": 65536, "prices": [{"input": 1, "output": 2}]}, "a": {}}}},
		"provider": "lab", "fallback": ["work/b/2"]}`
	values, err := settingsOf(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	named := NamedIn(values)
	if len(named) != 2 || named[0].Name != "lab" || named[0].Format != providers.ChatCompletions ||
		named[0].Models != nil {
		t.Fatalf("%+v", named)
	}
	w := named[1]
	if w.Format != providers.GenerateContent || w.URLs[0] != "https://${HOST}:${PORT}/v1" ||
		w.KeyVars[0] != "WORK_KEY" ||
		w.Headers["X-Team"] != "core" || string(w.Body) != `{"top_k": 20}` || w.Model != "b/2" || len(w.Models) != 2 ||
		w.Models[0].Provider != "work" || w.Models[0].Window != 65536 || w.Models[0].Prices[0].Output != 2 {
		t.Errorf("%+v", w)
	}
	values, err = settingsOf(t, strings.Replace(text, `"provider": "lab", "fallback": ["work/b/2"]`, `"effort": "low"`,
		1),
		map[string]string{"ATTRACTOR_PROVIDERS": `{"own": {"base_url": "http://y"}}`, "ATTRACTOR_PROVIDER": "own"})
	if named := NamedIn(values); err != nil || len(named) != 1 || named[0].Name != "own" {
		t.Errorf("%+v, %v", named, err)
	}
}

// A model with the name of one of the user's own providers in front chooses that provider, unless a
// provider stands beside it. Other models may have a slash.
func TestX6_ModelsChooseProviders(t *testing.T) {
	own := Value{Key: keyProviders, Text: []string{`{"work": {"base_url": "http://x"}}`},
		Origin: Origin{Place: PlaceUser}}
	at := func(place Place, key, text string) Value {
		return Value{Key: key, Text: []string{text}, Origin: Origin{Place: place, Name: place.String()}}
	}
	for _, c := range []struct {
		values []Value
		want   string
	}{
		{[]Value{at(PlaceFlag, "model", "work/qwen/3")}, "work qwen/3"},
		{[]Value{at(PlaceUser, "model", "work/qwen"), at(PlaceUser, "budget_usd", "1")}, "work qwen"},
		{[]Value{at(PlaceFlag, "model", "openai/gpt")}, " openai/gpt"},
		{[]Value{at(PlaceFlag, "model", "work/")}, " work/"},
		{[]Value{at(PlaceFlag, "model", "work/m"), at(PlaceFlag, "provider", "openrouter")}, "openrouter work/m"},
		{[]Value{at(PlaceFlag, "model", "work/m"), at(PlaceUser, "provider", "openrouter")}, "work m"},
		{[]Value{at(PlaceOther, "model", "work/m")}, " work/m"}, // of another agent
	} {
		before := slices.Clone(c.values)
		s := Choose(append(c.values, own), false)
		if got := s.Get("provider").One() + " " + s.Get("model").One(); got != c.want {
			t.Errorf("%v: %q, want %q", before, got, c.want)
		}
	}
}
