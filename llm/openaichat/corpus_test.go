package openaichat

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

const corpora = "../../../shared/corpora/"

// lines reads a file of the corpora, or skips the test.
func lines(t *testing.T, name string, each func(line []byte)) {
	f, err := os.Open(corpora + name)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		each(s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// answering is a provider whose server answers everything in the same way.
func answering(t *testing.T, answer func(w http.ResponseWriter)) *Provider {
	return provider(t, Options{HTTPClient: llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w)
	}))})
}

func ask() *llm.Request { return &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}} }

type errorCase struct {
	ID, Provider, Phase, Body string
	Status                    int
	Headers                   map[string]string
	Class                     string `json:"error_class"`
	Retryable                 *bool
	RetryAfter                json.RawMessage `json:"retry_after_ms"`
}

// errorKinds are the corpus' classes in our words. Ours are finer: an overload and a gateway's timeout are server errors there.
var errorKinds = map[string][]error{"InvalidRequestError": {llm.ErrInvalidRequest, llm.ErrServer}, "AuthenticationError": {llm.ErrAuthentication},
	"QuotaExceededError": {llm.ErrQuota}, "ContextLengthError": {llm.ErrContextLength}, "RateLimitError": {llm.ErrRateLimit},
	"NotFoundError": {llm.ErrNotFound}, "StreamError": {llm.ErrStream}, "ServerError": {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout}}

// TestG5_ErrorCorpus runs the corpus' answers and broken streams of all providers whose errors have the common form: compatible
// servers and OpenAI.
func TestG5_ErrorCorpus(t *testing.T) {
	ran := map[string]int{}
	lines(t, "provider_errors/cases.jsonl", func(line []byte) {
		var c errorCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Provider == "anthropic", c.Provider == "gemini", c.Phase == "transport":
			return
		case c.ID == "oa_resp_incomplete", c.ID == "oa_resp_failed": // events of the Responses API
			return
		}
		ran[c.Provider]++
		t.Run(c.ID, func(t *testing.T) { c.check(t) })
	})
	t.Logf("cases that ran: %v", ran)
}

func (c *errorCase) check(t *testing.T) {
	p := answering(t, func(w http.ResponseWriter) {
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		if c.Phase == "sse_midstream" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n")
		} else {
			w.WriteHeader(c.Status)
		}
		io.WriteString(w, c.Body)
	})
	_, err := llmtest.Contract(t, p.Stream(t.Context(), ask()))
	var e *llm.Error
	if !errors.As(err, &e) || !slices.Contains(errorKinds[c.Class], e.Kind) {
		t.Fatalf("%v, want %s", err, c.Class)
	}
	if c.Retryable != nil && *c.Retryable != llm.Retryable(err) {
		t.Errorf("%v: retryable %v", err, llm.Retryable(err))
	}
	var ms float64
	if json.Unmarshal(c.RetryAfter, &ms) == nil && e.RetryAfter.Milliseconds() != int64(ms) {
		t.Errorf("retry after %v, want %s ms", e.RetryAfter, c.RetryAfter)
	}
	if e.Message == "" {
		t.Error("no message")
	}
}

// phrases are what servers say when a conversation is too long, beyond the corpus.
var phrases = []string{
	`{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}}`,
	`{"error":{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","code":"wrong_api_format"}}`,
	`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_ctx":4096}}`,
	`{"error":"prompt too long; exceeded max context length by 5 tokens"}`,
	`{"error":"Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded with less"}`,
	"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens\",\"error_type\":\"validation\"}",
	`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`,
	`{"error":{"message":"litellm.ContextWindowExceededError: too much","type":null,"code":"400"}}`,
	`{"message":"too many tokens: total number of tokens in the prompt cannot exceed 128000"}`,
	`[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
	`{"detail":"Requested token count exceeds the model's maximum context length of 8192 tokens."}`,
	`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`,
}

func TestG5_ContextLength(t *testing.T) {
	for _, body := range phrases {
		for _, midway := range []bool{false, true} {
			p := answering(t, func(w http.ResponseWriter) {
				if !midway {
					w.WriteHeader(400)
					io.WriteString(w, body)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, "data: "+body+"\n\n")
			})
			// An array is the form of an error's body and of no event.
			if _, err := llm.Collect(p.Stream(t.Context(), ask())); !errors.Is(err, llm.ErrContextLength) && !(midway && body[0] == '[') {
				t.Errorf("%s (midway: %v): %v", body, midway, err)
			}
		}
	}
	for _, body := range []string{`{"error":{"message":"Rate limit reached: context length, tokens per minute","code":"rate_limit_exceeded"}}`} {
		p := answering(t, func(w http.ResponseWriter) { w.WriteHeader(429); io.WriteString(w, body) })
		if _, err := llm.Collect(p.Stream(t.Context(), ask())); !errors.Is(err, llm.ErrRateLimit) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestG1_StreamCorpus decodes recordings of compatible servers, and whatever else is filed with them: the contract holds for all.
func TestG1_StreamCorpus(t *testing.T) {
	ran, answers, others := map[string]int{}, 0, 0
	lines(t, "provider_streams/index.jsonl", func(line []byte) {
		var c struct{ ID, Provider, Kind, File string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(corpora + "provider_streams/" + c.File)
		if err != nil {
			t.Fatal(err)
		}
		chat := strings.Contains(string(data), `chat.completion`)
		if c.Provider != "openai-compatible" && !chat {
			return
		}
		ran[c.Provider+" "+c.Kind]++
		for i, rec := range recordings(c.Kind, string(data)) {
			t.Run(fmt.Sprintf("%s/%d", c.ID, i), func(t *testing.T) {
				switch {
				case rec.decodes(t):
					answers++
				case chat:
					t.Errorf("no answer: %.200q", rec.body)
				default: // of Bedrock, Cohere, the Responses API and others
					others++
				}
			})
		}
	})
	t.Logf("files: %v; recordings: %d answers, %d others", ran, answers, others)
	if ran["openai-compatible http_cassette"]+ran["openai-compatible sse_data_lines"]+ran["openai-compatible json_body"] != 110 || answers < 198 {
		t.Errorf("files %v, answers %d: less than there are", slices.Sorted(maps.Keys(ran)), answers)
	}
}

type recording struct{ contentType, body string }

// decodes says whether the recording is an answer. One of this very format that has its end must be.
func (r recording) decodes(t *testing.T) bool {
	p := answering(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", r.contentType)
		io.WriteString(w, r.body)
	})
	events, err := llmtest.Contract(t, p.Stream(t.Context(), ask()))
	complete := strings.Contains(r.body, "chat.completion") &&
		(strings.Contains(r.body, `"finish_reason":"`) || strings.Contains(r.body, `"finish_reason": "`))
	if complete && err != nil {
		t.Errorf("%v after %d events", err, len(events))
	}
	if err != nil {
		return false
	}
	answer := events[len(events)-1].Response
	if answer.Usage.Input == 0 && strings.Contains(r.body, `"prompt_tokens":`) || answer.Finish.Reason == llm.FinishOther || len(answer.Message.Parts) == 0 {
		t.Errorf("the answer lacks something: %+v", answer)
	}
	for _, call := range answer.ToolCalls() {
		if !json.Valid([]byte(call.Args)) {
			t.Errorf("arguments %s", call.Args)
		}
	}
	return true
}

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
		return []recording{{"text/event-stream", data + "\n\n"}}
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
			out = append(out, recorded(b.String()))
		case inResponse && strings.HasPrefix(text, "body: '"), inResponse && strings.HasPrefix(text, `body: "`):
			out = append(out, recorded(unquote(text[len("body: "):])))
		}
	}
	return out
}

func recorded(body string) recording {
	if strings.HasPrefix(strings.TrimSpace(body), "{") {
		return recording{"application/json", body}
	}
	return recording{"text/event-stream", body}
}

// unquote reads a YAML string in quotes of either kind; the double ones of these files escape as Go does.
func unquote(s string) string {
	if s[0] == '\'' {
		return strings.ReplaceAll(strings.Trim(s, "'"), "''", "'")
	}
	text, err := strconv.Unquote(s)
	if err != nil {
		return err.Error()
	}
	return text
}
