package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// dialect writes a format in two ways: with our provider, and with the SDK's own types.
type dialect struct {
	name     string // of our package
	provider func(t testing.TB, client *http.Client) llm.Provider
	reads    reading
	models   []string
	// same, if set, normalizes values that mean the same to the API.
	same func(v any) any
	// lost holds the members and list element types that the SDK's types lack, each with the reason
	// why we send it.
	lost map[string]string
}

const reasoningBack = "no part of OpenAI's format, but of the servers' that speak it: reasoning goes back where it " +
	"came from"

var dialects = []dialect{
	{name: "anthropic", provider: messagesProvider, reads: readMessageParams, models: []string{"claude-sonnet-4-5"}},
	{name: "openai", provider: responsesProvider, reads: readResponseParams, models: []string{"gpt-5.2"},
		lost: map[string]string{
			"type output_text": "the SDK has it only in messages with id and status, which nobody has who keeps " +
				"nothing on the server; the API takes it without",
		}},
	{name: "gemini", provider: geminiProvider, reads: readGeminiParams,
		models: []string{"gemini-2.5-flash", "gemini-3-pro-preview"}, same: geminiSame},
	{name: "openaichat", provider: chatProvider, reads: readChatParams, models: []string{"some-model"},
		lost: map[string]string{
			".messages[].reasoning_content": reasoningBack,
			".messages[].reasoning":         reasoningBack,
			".messages[].reasoning_details": reasoningBack,
			".messages[].tool_calls[].extra_content": "Gemini's thought signature, in the form of Google's own " +
				"endpoint for this format",
			"type thinking":         reasoningBack + " (Mistral: among the content)",
			".top_k":                "an option of the caller's",
			".chat_template_kwargs": "an option of the caller's",
		}},
}

// sentRequest is a request as a server gets it.
type sentRequest struct {
	path   string
	header http.Header
	body   []byte
}

var errNoAnswer = errors.New("nobody answers")

// recorder returns a client that records its request.
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

// TestG1_WhatWeSend lets the SDKs read our requests and send them again. Nothing may be lost.
func TestG1_WhatWeSend(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			seen := map[string]bool{}
			ran := 0
			for _, model := range d.models {
				for name, reqs := range requests(d.provider(t, nil).Name(), model) {
					for i, req := range reqs {
						t.Run(fmt.Sprintf("%s/%s/%d", model, name, i),
							func(t *testing.T) { ran += d.check(t, req, seen) })
					}
				}
			}
			for name, req := range fixtures(t, d.name) {
				t.Run("fixture/"+name, func(t *testing.T) { ran += d.check(t, req, seen) })
			}
			fmt.Printf("requests %s: %d bodies read by the SDK's types and sent on as they were; not in those "+
				"types: %v\n", d.name, ran, slices.Sorted(maps.Keys(seen)))
			if ran < 90 {
				t.Errorf("only %d requests were compared", ran)
			}
			for member, reason := range d.lost {
				if !seen[member] {
					t.Errorf("nothing shows any more that %s is lost (%s)", member, reason)
				}
			}
		})
	}
}

// check sends one request in both ways. It returns 0 if the API cannot express it, which is an
// error before anything is sent.
func (d dialect) check(t *testing.T, req *llm.Request, seen map[string]bool) int {
	var have, want sentRequest
	_, err := llm.Collect(d.provider(t, recorder(&have)).Stream(t.Context(), req))
	if have.body == nil {
		if !errors.Is(err, llm.ErrUnsupported) && !errors.Is(err, llm.ErrInvalidRequest) &&
			!errors.Is(err, llm.ErrConfiguration) {
			t.Errorf("nothing was sent: %v", err)
		}
		return 0
	}
	send, unknown, err := d.reads(recorder(&want), req.Model, have.body)
	if err == nil {
		err = send()
	}
	if !strings.Contains(fmt.Sprint(err), errNoAnswer.Error()) {
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
	places := jsonDifferences(t, have.body, want.body, d.same)
	for _, raw := range unknown {
		var w struct{ Type string }
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatal(err)
		}
		places = append(places, "type "+w.Type)
	}
	for _, at := range places {
		seen[at] = true
		if _, ok := d.lost[at]; !ok {
			t.Errorf("%s is lost:\nours %s\nSDK  %s", at, have.body, want.body)
		}
	}
	return 1
}

// TestLossIsNoticed sends data that the SDKs do not know. The comparison must report it.
func TestLossIsNoticed(t *testing.T) {
	for _, d := range dialects {
		for _, change := range [][2]string{{`"role":"user"`, `"xyzzy":1,"role":"user"`}, {`"text":`, `"xyzzy":`},
			{`"content":"`, `"xyzzy":"`}} {
			var have, want sentRequest
			req := history(&llm.Request{Model: d.models[0],
				Messages: []llm.Message{llm.System("x"), llm.User("y", media[0])}}, "a", 3)[2]
			if _, err := llm.Collect(d.provider(t, recorder(&have)).Stream(t.Context(), req)); have.body == nil {
				t.Fatal(err)
			}
			body := []byte(strings.Replace(string(have.body), change[0], change[1], 1))
			if string(body) == string(have.body) {
				continue // this format does not have it
			}
			send, unknown, err := d.reads(recorder(&want), req.Model, body)
			if err == nil {
				err = send()
			}
			if want.body != nil && len(jsonDifferences(t, body, want.body, d.same)) == 0 && len(unknown) == 0 {
				t.Errorf("%s: nobody notices %s (%v)", d.name, change[1], err)
			}
		}
	}
}
