package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// acme returns a kind of a program's own.
func acme(change func(*providers.Kind)) providers.Kind {
	k := providers.Kind{Name: "acme", Format: providers.ChatCompletions, URLs: []string{"https://llm.acme.example/v1"},
		KeyVars: []string{"ACME_KEY"}, Headers: map[string]string{"X-Team": "${TEAM}"},
		Body: json.RawMessage(`{"top_k":20}`)}
	if change != nil {
		change(&k)
	}
	return k
}

// A row of a program's own is checked before it is used. What is wrong is named, and no value,
// which may be a key, is quoted.
func TestX6_CheckOfARow(t *testing.T) {
	if err := acme(nil).Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*providers.Kind){
		"groq is the name of a provider that is there": func(k *providers.Kind) { k.Name = "groq" },
		`"a/b" cannot be the name`:                     func(k *providers.Kind) { k.Name = "a/b" },
		`"" cannot be the name`:                        func(k *providers.Kind) { k.Name = "" },
		`the format must be Chat Completions, Messages, Responses or generateContent, not "chat"`: func(k *providers.Kind) { k.Format = "chat" },
		"the base URL is missing": func(k *providers.Kind) { k.URLs = nil },
		"the base URL must begin": func(k *providers.Kind) { k.URLs = []string{"hunter22.example"} },
		"the value of the header X-Key has a line feed": func(k *providers.Kind) {
			k.Headers["X-Key"] = "hunter22\n" + "Host: evil"
		},
		`"X Key" cannot be the name of a header`:       func(k *providers.Kind) { k.Headers["X Key"] = "hunter22" },
		"the header host is set by the request itself": func(k *providers.Kind) { k.Headers["host"] = "hunter22" },
		`the body: provider option "messages" is set`:  func(k *providers.Kind) { k.Body = json.RawMessage(`{"messages":["hunter22"]}`) },
		"the body: provider options must be a JSON":    func(k *providers.Kind) { k.Body = json.RawMessage(`["hunter22"]`) },
		`"contents" is set`: func(k *providers.Kind) {
			k.Format, k.Body = providers.GenerateContent, json.RawMessage(`{"contents":[]}`)
		},
		`"system" is set`: func(k *providers.Kind) {
			k.Format, k.Body = providers.Messages,
				json.RawMessage(`{"system":"x"}`)
		},
		`"input" is set`: func(k *providers.Kind) {
			k.Format, k.Body = providers.Responses,
				json.RawMessage(`{"input":"x"}`)
		},
	} {
		err := acme(change).Check()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Headers and members of the body of a row are in each request, in every format. A member of the
// request's own options counts before one of the row.
func TestX6_HeadersAndBodyAreSent(t *testing.T) {
	for _, format := range providers.Formats() {
		var header http.Header
		var sent []byte
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header = r.Header
			sent, _ = io.ReadAll(r.Body) // what is missing is found below
			w.WriteHeader(http.StatusTeapot)
		}))
		t.Cleanup(web.Close)
		kind := acme(func(k *providers.Kind) {
			k.Format, k.URLs = format, []string{"http://${PLACE}/v1"}
			k.Headers["X-Fixed"] = "always"
			k.Body = json.RawMessage(`{"top_k":20,"metadata":{"from":"row"}}`)
		})
		vars := map[string]string{"PLACE": strings.TrimPrefix(web.URL, "http://"), "ACME_KEY": "key-of-a-test"}
		if config, set := kind.Config(func(name string) string { return vars[name] }); set {
			t.Errorf("%s: without the variable of a header %+v suffices", format, config)
		} else if _, err := kind.New(config); !errors.Is(err, llm.ErrConfiguration) ||
			!strings.Contains(err.Error(), "set TEAM in the environment") {
			t.Errorf("%s: without the variable of a header: %v", format, err)
		}
		vars["TEAM"] = "core/"
		config, set := kind.Config(func(name string) string { return vars[name] })
		provider, err := kind.New(config)
		if err != nil || !set {
			t.Fatal(set, err)
		}
		req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Is it?")},
			Options: map[string]json.RawMessage{"acme": json.RawMessage(`{"metadata":{"from":"request"}}`)}}
		for _, err := range provider.Stream(context.Background(), req) {
			if errors.Is(err, llm.ErrConfiguration) {
				t.Fatalf("%s: %v", format, err)
			}
		}
		var body struct {
			TopK     int               `json:"top_k"`
			Metadata map[string]string `json:"metadata"`
		}
		if err := json.Unmarshal(sent, &body); err != nil {
			t.Fatal(err)
		}
		if header.Get("X-Team") != "core/" || header.Get("X-Fixed") != "always" || body.TopK != 20 ||
			body.Metadata["from"] != "request" {
			t.Errorf("%s: sent were %v and %s", format, header, sent)
		}
	}
}

// A table finds its rows, and a row says what it needs of the environment.
func TestX6_Table(t *testing.T) {
	table := append(providers.Kinds(), acme(nil))
	kind, err := table.Find("acme")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kind.Variables(), ", "); got != "ACME_KEY, TEAM" {
		t.Errorf("it needs %s", got)
	}
	keyless := acme(func(k *providers.Kind) { k.KeyVars, k.Headers = nil, nil })
	if config, set := keyless.Config(func(string) string { return "" }); !set || config.BaseURL != keyless.URLs[0] {
		t.Errorf("a server without a key: %+v, %v", config, set)
	}
	if _, err := table.Find("acne"); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Error(err)
	}
}
