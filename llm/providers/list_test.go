package providers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
)

// Servers list their models in several forms, and say more or less of them.
func TestV3_ServersListModels(t *testing.T) {
	for _, tt := range []struct {
		provider, base, path, answer string
		want                         []llm.Model
	}{
		{"groq", "/openai/v1", "/openai/v1/models",
			`{"data":[{"id":"openai/gpt-oss-120b"},{"id":"new","context_window":9}]}`,
			[]llm.Model{{ID: "openai/gpt-oss-120b", Provider: "groq", Reasoning: true},
				{ID: "new", Provider: "groq", Window: 9, Reasoning: true}}},
		{"together", "/v1", "/v1/models", `[{"id":"a","context_length":7,"pricing":{"input":0.1}}]`,
			[]llm.Model{{ID: "a", Provider: "together", Window: 7, Reasoning: true}}},
		{"openrouter", "/api/v1", "/api/v1/models", `{"data":[{"id":"a/b","context_length":5000,
			"pricing":{"prompt":"0.000001","completion":"0.000002","input_cache_read":"0.0000001"},
			"architecture":{"input_modalities":["text","file"]},"supported_parameters":["reasoning"],
			"top_provider":{"max_completion_tokens":99}},{"id":"c/d:free","pricing":{"prompt":"0"}},{"id":"e/f","pricing":{"prompt":"-1"}}]}`,
			[]llm.Model{{ID: "a/b", Provider: "openrouter", Window: 5000, MaxOutput: 99,
				Input:     []string{"text", "document"},
				Reasoning: true, Prices: []llm.Price{{Input: 1, Output: 2, CacheRead: 0.1}}},
				{ID: "c/d:free", Provider: "openrouter", Reasoning: true, Prices: []llm.Price{{}}},
				{ID: "e/f", Provider: "openrouter", Reasoning: true}}},
		{"anthropic", "", "/v1/models?limit=1000",
			`{"data":[{"id":"claude-next","display_name":"Claude Next","max_input_tokens":8}]}`,
			[]llm.Model{{ID: "claude-next", Provider: "anthropic", Name: "Claude Next", Window: 8, Reasoning: true}}},
		{"gemini", "", "/v1beta/models?pageSize=1000",
			`{"models":[{"name":"models/g","inputTokenLimit":6,"outputTokenLimit":2}]}`,
			[]llm.Model{{ID: "g", Provider: "gemini", Window: 6, MaxOutput: 2, Reasoning: true}}},
		{"ollama", "", "/v1/models", `{"data":[{"id":"q"}]}`,
			[]llm.Model{{ID: "q", Provider: "ollama", Reasoning: true}}},
		{"vllm", "/v1", "/v1/models", `{"data":[{"id":"q","max_model_len":4}]}`,
			[]llm.Model{{ID: "q", Provider: "vllm", Window: 4, Reasoning: true}}},
	} {
		kind, err := providers.Find(tt.provider)
		if err != nil {
			t.Fatal(err)
		}
		client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.RequestURI(); got != tt.path || r.Method != http.MethodGet {
				t.Errorf("%s: %s %s, want GET %s", tt.provider, r.Method, got, tt.path)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, tt.answer)
		}))
		got, err := kind.List(t.Context(), providers.Config{APIKey: testKey, BaseURL: "http://x.example" + tt.base,
			HTTPClient: client})
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tt.provider, err, diff)
		}
	}
}

// The idle timeout of a configuration limits the wait for the list, too.
func TestG6_ListHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind, err := providers.Find("groq")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = kind.List(t.Context(), providers.Config{APIKey: "k", BaseURL: "http://x.example/v1",
			IdleTimeout: time.Second, HTTPClient: llmtest.PipeClient(t, http.HandlerFunc(
				func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))})
		if took := time.Since(begin); !errors.Is(err, llm.ErrTimeout) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A key from a function is asked for before the first request, and once more when the server
// refuses it, but not a third time. On Vertex it is a bearer token.
func TestV1_KeysAreRenewed(t *testing.T) {
	for _, provider := range []string{"groq", "google-vertex"} {
		kind, err := providers.Find(provider)
		if err != nil {
			t.Fatal(err)
		}
		good, asked := "key-2", 0
		model := fakellm.New(fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
		client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+good {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":{"message":"expired"}}`)
				return
			}
			r.Header.Set("X-Goog-Api-Key", "as the token")
			model.ServeHTTP(w, r)
		}))
		p, err := kind.NewWithKey(providers.Config{BaseURL: "http://x.example/v1", HTTPClient: client},
			func(context.Context) (string, error) {
				asked++
				return fmt.Sprintf("key-%d", asked), nil
			})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() error {
			_, err := (&llm.Client{Providers: []llm.Provider{p}}).Complete(t.Context(),
				&llm.Request{Model: "m", Messages: []llm.Message{llm.User("Hello.")}})
			return err
		}
		if err := errors.Join(ask(), ask()); err != nil || asked != 2 {
			t.Errorf("%s: %v, and %d keys were asked for", provider, err, asked)
		}
		good = "none"
		if err := ask(); !errors.Is(err, llm.ErrAuthentication) || asked != 3 {
			t.Errorf("%s: with keys that are all refused: %v, and %d were asked for", provider, err, asked)
		}
	}
}

// Credentials are asked for before the first request, when they have expired, and once more when
// the server refuses them. They may say the URL, which the environment need not know. Their errors
// are those of requests that were not sent.
func TestV1_CredentialsAreRenewed(t *testing.T) {
	kind, err := providers.Find("amazon-bedrock")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	good := "key-1"
	model := fakellm.New(func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: "Done."} }, fakellm.Options{})
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		if r.Header.Get("Authorization") != "Bearer "+good {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"The security token included in the request is expired"}`)
			return
		}
		model.ServeHTTP(w, r)
	}))
	asked, expires, failure := 0, time.Time{}, error(nil)
	p, err := kind.NewWithCredentials(providers.Config{HTTPClient: client, APIKey: "does not count"},
		func(_ context.Context, k providers.Kind, c providers.Config) (providers.Access, error) {
			asked++
			c.APIKey = fmt.Sprintf("key-%d", asked)
			c.BaseURL = strings.Replace(k.URL(func(string) string { return "here" }), "https", "http", 1)
			return providers.Access{Config: c, Expires: expires}, failure
		})
	if err != nil {
		t.Fatal(err)
	}
	try := func(want int) error {
		t.Helper()
		_, err := (&llm.Client{Providers: []llm.Provider{p}}).Complete(t.Context(),
			&llm.Request{Model: "m", Messages: []llm.Message{llm.User("Hello.")}})
		if asked != want {
			t.Errorf("asked %d times, want %d: %v", asked, want, err)
		}
		return err
	}
	if err := errors.Join(try(1), try(1)); err != nil || hosts[0] != "bedrock-mantle.here.api.aws" {
		t.Errorf("%v, at %q", err, hosts)
	}
	good, expires = "key-2", time.Now().Add(-time.Second)
	if err := try(2); err != nil {
		t.Error(err)
	}
	good, expires = "key-3", time.Now().Add(time.Hour)
	if err := errors.Join(try(3), try(3)); err != nil {
		t.Error(err)
	}
	good, failure = "none", errors.New("log in again")
	if e, _ := errors.AsType[*llm.Error](try(4)); e == nil || e.Kind != llm.ErrAuthentication || !e.Unsent ||
		e.Message != "log in again" {
		t.Errorf("%#v", e)
	}
}

// A request whose context ends does not wait for the key that another request asks for.
func TestV1_WaitingForAKeyEnds(t *testing.T) {
	kind, err := providers.Find("groq")
	if err != nil {
		t.Fatal(err)
	}
	asked, release := make(chan struct{}), make(chan struct{})
	p, err := kind.NewWithKey(providers.Config{}, func(context.Context) (string, error) {
		close(asked)
		<-release
		return "", errors.New("no key today")
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) error {
		_, err := llm.Collect(p.Stream(ctx, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
		return err
	}
	first := make(chan error)
	go func() { first <- ask(t.Context()) }()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx); !errors.Is(err, llm.ErrAborted) {
		t.Errorf("the request that waited: %v", err)
	}
	close(release)
	if err := <-first; !errors.Is(err, llm.ErrAuthentication) {
		t.Errorf("the first request: %v", err)
	}
}
