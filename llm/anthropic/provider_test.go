package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestNew(t *testing.T) {
	for name, o := range map[string]Options{
		"no key": {}, "key with a line end": {APIKey: "k\n"}, "no URL": {APIKey: "k", BaseURL: "api.test"},
		"another scheme": {APIKey: "k", BaseURL: "ftp://api.test"}, "broken URL": {APIKey: "k", BaseURL: "http://u:secret@[::1"},
	} {
		_, err := New(o)
		if !errors.Is(err, llm.ErrConfiguration) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for base, want := range map[string]string{"": "https://api.anthropic.com/v1/messages", "http://x.test": "http://x.test/v1/messages",
		"http://x.test/": "http://x.test/v1/messages", "http://x.test/proxy/v1/": "http://x.test/proxy/v1/messages"} {
		if p, err := New(Options{APIKey: "k", BaseURL: base}); err != nil || p.url != want || p.Name() != "anthropic" {
			t.Errorf("%q: %+v, %v", base, p, err)
		}
	}
}

// One session over a real connection: a call, its result, a second answer, a fault in between.
func TestOverLoopback(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "Where is it?", Text: "I look.", Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}},
		fakellm.Turn{Text: "Done."},
	), fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	srv := httptest.NewServer(server)
	defer srv.Close()
	p, err := New(Options{Name: "mine", APIKey: "key-1", BaseURL: srv.URL, HTTPClient: srv.Client(), Header: http.Header{"x-team": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.System("Be brief."), llm.User("Go.")}, Memo: new(llm.Memo), Effort: "low",
		Tools: []llm.ToolDefinition{{Name: "look"}}, Options: map[string]json.RawMessage{"mine": json.RawMessage(`{"beta_headers":["b"]}`)}}
	first, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message, llm.ToolResults(llm.ToolResult{CallID: first.ToolCalls()[0].ID, Content: llm.TextParts("seen")}))
	if _, err := llm.Collect(p.Stream(t.Context(), req)); !errors.Is(err, llm.ErrStream) {
		t.Errorf("the cut: %v", err)
	}
	second, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil || second.Text() != "Done." || second.Provider != "mine" {
		t.Fatalf("%+v, %v", second, err)
	}
	got := server.Requests()
	h := got[0].Header
	if h.Get("X-Api-Key") != "key-1" || h.Get("Anthropic-Version") != apiVersion || h.Get("X-Team") != "a" || h.Get("Anthropic-Beta") != "b" ||
		h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
	if string(got[1].Body) != string(got[2].Body) {
		t.Error("the retry was another request")
	}
	if got[0].System != "Be brief." || got[0].Effort != "budget:4096" || got[2].Turn() != 1 {
		t.Errorf("%+v", got[0])
	}
}

// A new connection for every call would cost a TLS handshake each.
func TestConnectionIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.PipeClient(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
		transport := client.Transport.(*http.Transport)
		dial, dials := transport.DialContext, 0
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return dial(ctx, network, addr)
		}
		p, err := New(Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}})); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if dials != 1 {
			t.Errorf("%d connections for 5 calls", dials)
		}
	})
}

func TestLeavingEarlyLeaksNothing(t *testing.T) { // goleak looks after the last test
	srv := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: strings.Repeat("word ", 10000)}), fakellm.Options{}))
	defer srv.Close()
	p, err := New(Options{APIKey: "k", BaseURL: srv.URL, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for leaveAt := range 20 {
		n := 0
		for _, err := range p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > leaveAt {
				break
			}
		}
	}
}

// TestErrorCorpus runs the corpus' cases of this provider.
func TestErrorCorpus(t *testing.T) {
	f, err := os.Open("../../../shared/corpora/provider_errors/cases.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the error corpus is not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The corpus' ServerError is finer here.
	kinds := map[string][]error{"InvalidRequestError": {llm.ErrInvalidRequest}, "AuthenticationError": {llm.ErrAuthentication},
		"QuotaExceededError": {llm.ErrQuota}, "ContextLengthError": {llm.ErrContextLength}, "RateLimitError": {llm.ErrRateLimit},
		"ServerError": {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout}}
	ran := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			ID, Provider, Phase, Body string
			Status                    int
			Class                     string `json:"error_class"`
			Retryable                 *bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Provider != "anthropic" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			p := answering(t, func(w http.ResponseWriter) {
				if c.Phase == "sse_midstream" {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, `data: {"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1}}}`+"\n\n")
				} else {
					w.WriteHeader(c.Status)
				}
				io.WriteString(w, c.Body)
				if strings.HasPrefix(c.Class, "finish:") {
					io.WriteString(w, "data: {\"type\":\"message_stop\"}\n\n")
				}
			})
			resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
			if reason, ok := strings.CutPrefix(c.Class, "finish:"); ok {
				if err != nil || string(resp.Finish.Reason) != reason {
					t.Errorf("%+v, %v", resp, err)
				}
				return
			}
			fits := false
			for _, kind := range kinds[c.Class] {
				fits = fits || errors.Is(err, kind)
			}
			if !fits || c.Retryable != nil && *c.Retryable != llm.Retryable(err) {
				t.Errorf("%v, retryable %v; want %s", err, llm.Retryable(err), c.Class)
			}
		})
	}
	t.Logf("%d cases ran", ran)
}

// answering is a provider whose server answers everything in the same way.
func answering(t *testing.T, answer func(w http.ResponseWriter)) *Provider {
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w)
	}))
	p, err := New(Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client, IdleTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStreamCorpus decodes recordings of the real API, and some that are not: whatever comes, the contract holds.
func TestStreamCorpus(t *testing.T) {
	const dir = "../../../shared/corpora/provider_streams/"
	f, err := os.Open(dir + "index.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the stream corpus is not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran, answers := map[string]int{}, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct{ ID, Provider, Kind, File string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Provider != "anthropic" {
			continue
		}
		data, err := os.ReadFile(dir + c.File)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range recordings(c.Kind, string(data)) {
			ran[c.Kind]++
			t.Run(fmt.Sprintf("%s/%d", c.ID, i), func(t *testing.T) {
				p := answering(t, func(w http.ResponseWriter) {
					w.Header().Set("Content-Type", rec.contentType)
					io.WriteString(w, rec.body)
				})
				events, err := llmtest.Contract(t, p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
				if err == nil {
					answers++
				}
				// A recording of this very API that has its end must decode.
				whole := strings.Contains(rec.body, `"message_stop"`) && strings.Contains(rec.body, `"message_start"`) ||
					rec.contentType == "application/json" && strings.Contains(rec.body, `"stop_reason"`)
				if whole && err != nil {
					t.Errorf("%v after %d events", err, len(events))
				}
			})
		}
	}
	t.Logf("recordings that ran: %v, of which %d are answers", ran, answers)
	if answers < 40 {
		t.Errorf("only %d answers were decoded", answers)
	}
}

type recording struct{ contentType, body string }

// recordings takes the answers out of a file.
func recordings(kind, data string) []recording {
	switch kind {
	case "sse_data_lines":
		var b strings.Builder
		for line := range strings.Lines(data) {
			if line = strings.TrimSpace(line); line != "" {
				b.WriteString("data: " + line + "\n\n")
			}
		}
		return []recording{{"text/event-stream", b.String()}}
	case "sse":
		return []recording{{"text/event-stream", data + "\n\n"}} // some files lost their last line ends
	case "json_body":
		return []recording{{"application/json", data}}
	}
	return cassette(data)
}

// cassette reads the response bodies of a YAML recording: block scalars and quoted strings, all that these files have.
func cassette(data string) []recording {
	var out []recording
	lines := strings.Split(data, "\n")
	inResponse := false
	for i := 0; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		switch {
		case text == "response:":
			inResponse = true
		case text == "request:":
			inResponse = false
		case inResponse && strings.HasPrefix(text, "body: |"):
			var b strings.Builder
			for i++; i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "      ")); i++ {
				b.WriteString(strings.TrimPrefix(lines[i], "      ") + "\n")
			}
			i--
			out = append(out, recording{"text/event-stream", b.String()})
		case inResponse && strings.HasPrefix(text, "body: '"):
			body := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(text, "body: '"), "'"), "''", "'")
			out = append(out, recording{"application/json", body})
		}
	}
	return out
}
