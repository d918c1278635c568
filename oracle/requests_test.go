package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"golang.org/x/tools/txtar"
	"google.golang.org/genai"

	"github.com/attractor-go/attractor/llm"
)

// dialect is how a format is written: by us, and by the SDK from its own types.
type dialect struct {
	name     string // of our package
	provider func(t testing.TB, client *http.Client) llm.Provider
	// through reads a body into the SDK's types and has the SDK send what it understood. model is what is not in the body.
	through func(t testing.TB, client *http.Client, model string, body []byte) error
	models  []string
	// lost are the members that the SDK's types cannot hold, with the reason why that is right.
	lost map[string]string
}

var dialects = []dialect{
	{name: "anthropic", provider: messagesProvider, through: messagesThrough, models: []string{"claude-sonnet-4-5"}},
	{name: "openai", provider: responsesProvider, through: responsesThrough, models: []string{"gpt-5.2"}},
	{name: "gemini", provider: geminiProvider, through: geminiThrough, models: []string{"gemini-2.5-flash", "gemini-3-pro-preview"}},
	{name: "openaichat", provider: chatProvider, through: chatThrough, models: []string{"some-model"}},
}

// sentRequest is what arrives at a server.
type sentRequest struct {
	path   string
	header http.Header
	body   []byte
}

var errNoAnswer = errors.New("nobody answers")

// recorder is a client that keeps what it was to send.
func recorder(into *sentRequest) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		*into = sentRequest{path: r.URL.RequestURI(), header: r.Header, body: body}
		return nil, errNoAnswer
	})}
}

// TestG1_WhatWeSend has the SDKs read what we send, and send it on: nothing may be lost.
func TestG1_WhatWeSend(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			seen := map[string]bool{}
			ran := 0
			for _, model := range d.models {
				for name, reqs := range requests(d.name, model) {
					for i, req := range reqs {
						t.Run(fmt.Sprintf("%s/%s/%d", model, name, i), func(t *testing.T) { ran += d.check(t, req, seen) })
					}
				}
			}
			for name, req := range fixtures(t, d.name) {
				t.Run("fixture/"+name, func(t *testing.T) { ran += d.check(t, req, seen) })
			}
			fmt.Printf("requests %s: %d bodies, lost in the SDK's types: %v\n", d.name, ran, slices.Sorted(keys(seen)))
			for member, reason := range d.lost {
				if !seen[member] {
					t.Errorf("nothing shows any more that %s is lost (%s)", member, reason)
				}
			}
		})
	}
}

func keys(m map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// check sends one request in both ways. It returns 0 when the API cannot express it, which is an error before anything is sent.
func (d dialect) check(t *testing.T, req *llm.Request, seen map[string]bool) int {
	var have, want sentRequest
	_, err := llm.Collect(d.provider(t, recorder(&have)).Stream(t.Context(), req))
	if have.body == nil {
		if !errors.Is(err, llm.ErrUnsupported) && !errors.Is(err, llm.ErrInvalidRequest) && !errors.Is(err, llm.ErrConfiguration) {
			t.Errorf("nothing was sent: %v", err)
		}
		return 0
	}
	if err := d.through(t, recorder(&want), req.Model, have.body); !strings.Contains(fmt.Sprint(err), errNoAnswer.Error()) {
		t.Errorf("the SDK does not take it: %v\n%s", err, have.body)
		return 1
	}
	if have.path != want.path {
		t.Errorf("sent to %s, by the SDK to %s", have.path, want.path)
	}
	for _, name := range []string{"Content-Type", "X-Api-Key", "Anthropic-Version", "Authorization", "X-Goog-Api-Key"} {
		if have.header.Get(name) != want.header.Get(name) {
			t.Errorf("%s: %q, by the SDK %q", name, have.header.Get(name), want.header.Get(name))
		}
	}
	for _, at := range lost(t, have.body, want.body) {
		seen[at] = true
		if _, ok := d.lost[at]; !ok {
			t.Errorf("%s is lost:\nours %s\nSDK  %s", at, have.body, want.body)
		}
	}
	return 1
}

// fixtures are the requests of a provider's own tests.
func fixtures(t *testing.T, name string) map[string]*llm.Request {
	files, err := filepath.Glob("../llm/" + name + "/testdata/request_*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := map[string]*llm.Request{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		req := new(llm.Request)
		for _, f := range ar.Files {
			switch f.Name {
			case "request.json":
				err = json.Unmarshal(f.Data, req)
			case "facts.json":
				req.Facts = new(llm.Model)
				err = json.Unmarshal(f.Data, req.Facts)
			}
			if err != nil {
				t.Fatal(file, err)
			}
		}
		if req.Model != "" {
			all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = req
		}
	}
	return all
}

// lost names the places where two JSON texts differ, without the indices of lists.
func lost(t *testing.T, a, b []byte) []string {
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	var out []string
	compare("", x, y, &out)
	return out
}

func compare(at string, x, y any, out *[]string) {
	a, isObject := x.(map[string]any)
	b, both := y.(map[string]any)
	if isObject && both {
		for key := range union(a, b) {
			compare(at+"."+key, a[key], b[key], out)
		}
		return
	}
	l, isList := x.([]any)
	m, both := y.([]any)
	if isList && both && len(l) == len(m) {
		for i := range l {
			compare(at+"[]", l[i], m[i], out)
		}
		return
	}
	if !reflect.DeepEqual(x, y) && !slices.Contains(*out, at) {
		*out = append(*out, at)
	}
}

func union(a, b map[string]any) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			all[key] = true
		}
	}
	return all
}

func messagesThrough(t testing.TB, client *http.Client, _ string, body []byte) error {
	var params anthropic.MessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return err
	}
	sdk := messagesClient(client)
	return sdk.Messages.NewStreaming(t.Context(), params).Err()
}

func responsesThrough(t testing.TB, client *http.Client, _ string, body []byte) error {
	var params responses.ResponseNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return err
	}
	sdk := openaiClient(client)
	return sdk.Responses.NewStreaming(t.Context(), params).Err()
}

func chatThrough(t testing.TB, client *http.Client, _ string, body []byte) error {
	var params openai.ChatCompletionNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return err
	}
	sdk := openaiClient(client)
	return sdk.Chat.Completions.NewStreaming(t.Context(), params).Err()
}

// geminiThrough puts the body together from the SDK's types as a user of the SDK has to: there is no type of the whole.
func geminiThrough(t testing.TB, client *http.Client, model string, body []byte) error {
	var w struct {
		Contents         []*genai.Content
		GenerationConfig json.RawMessage
	}
	var config genai.GenerateContentConfig
	if err := json.Unmarshal(body, &w); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &config); err != nil { // systemInstruction, tools and so on
		return err
	}
	if w.GenerationConfig != nil {
		if err := json.Unmarshal(w.GenerationConfig, &config); err != nil {
			return err
		}
	}
	for _, err := range geminiClient(t, client).Models.GenerateContentStream(t.Context(), model, w.Contents, &config) {
		return err
	}
	return nil
}

var _ = regexp.MustCompile
