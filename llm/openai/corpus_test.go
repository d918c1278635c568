package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

const corpora = "../../../shared/corpora/"

// lines calls each with every line of a corpus' index, and skips the test without one.
func lines(t *testing.T, file string, each func(line []byte)) {
	f, err := os.Open(corpora + file)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpus is not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		each(scan.Bytes())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
}

type errorCase struct {
	ID, Provider, Phase, Body string
	Status                    int
	Headers                   map[string]string
	Class                     string `json:"error_class"`
	Retryable                 *bool
	RetryAfter                json.RawMessage `json:"retry_after_ms"`
}

// errorKinds are the corpus' classes in our words. Its ServerError is finer here.
var errorKinds = map[string][]error{"InvalidRequestError": {llm.ErrInvalidRequest}, "AuthenticationError": {llm.ErrAuthentication},
	"QuotaExceededError": {llm.ErrQuota}, "ContextLengthError": {llm.ErrContextLength}, "RateLimitError": {llm.ErrRateLimit},
	"NotFoundError": {llm.ErrNotFound}, "ServerError": {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout}, "StreamError": {llm.ErrStream}}

// TestG5_ErrorCorpus runs the corpus' cases of this provider.
func TestG5_ErrorCorpus(t *testing.T) {
	ran := map[string]int{}
	lines(t, "provider_errors/cases.jsonl", func(line []byte) {
		var c errorCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Provider == "openai" {
			ran[c.Phase]++
			t.Run(c.ID, func(t *testing.T) { c.check(t) })
		}
	})
	t.Logf("cases that ran: %v", ran)
	if ran["response"] < 17 || ran["sse_midstream"] < 6 {
		t.Errorf("too few cases: %v", ran)
	}
}

func (c errorCase) check(t *testing.T) {
	p := answering(t, func(w http.ResponseWriter) {
		if c.Phase == "sse_midstream" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"type":"response.created","response":{"id":"r","model":"m"}}`+"\n\n")
		}
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(c.Status)
		io.WriteString(w, c.Body)
	})
	resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if reason, ok := strings.CutPrefix(c.Class, "finish:"); ok {
		if err != nil || string(resp.Finish.Reason) != reason {
			t.Errorf("%+v, %v", resp, err)
		}
		return
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	fits := false
	for _, kind := range errorKinds[c.Class] {
		fits = fits || e.Kind == kind
	}
	if c.ID == "x_should_retry_true" { // the class says no, the header and retryable say yes: so it is the server's fault
		fits = e.Kind == llm.ErrServer
	}
	if !fits || c.Retryable != nil && *c.Retryable != llm.Retryable(err) {
		t.Errorf("%v, retryable %v; want %s", err, llm.Retryable(err), c.Class)
	}
	var ms float64
	if string(c.RetryAfter) != `"date"` && (json.Unmarshal(c.RetryAfter, &ms) != nil || e.RetryAfter.Milliseconds() != int64(ms)) {
		t.Errorf("retry after %v, want %s ms", e.RetryAfter, c.RetryAfter)
	}
	if e.Message == "" || e.Provider != "openai" {
		t.Errorf("%+v", e)
	}
}

// TestG1_StreamCorpus decodes recordings of the real API. Some are of the older Chat Completions and Completions APIs: they
// belong to another provider, and here they are one error each.
func TestG1_StreamCorpus(t *testing.T) {
	const dir = "provider_streams/"
	ran, outcome, files := map[string]int{}, map[string]int{}, 0
	lines(t, dir+"index.jsonl", func(line []byte) {
		var c struct{ ID, Provider, Kind, File string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Provider != "openai" {
			return
		}
		data, err := os.ReadFile(corpora + dir + c.File)
		if err != nil {
			t.Fatal(err)
		}
		files++
		found := recordings(c.Kind, string(data))
		if len(found) == 0 {
			t.Errorf("%s: no recording found", c.File)
		}
		for i, rec := range found {
			ran[c.Kind]++
			t.Run(fmt.Sprintf("%s/%d", c.ID, i), func(t *testing.T) { outcome[rec.check(t)]++ })
		}
	})
	t.Logf("%d files, recordings that ran: %v, of which are %v", files, ran, outcome)
	if files < 120 || outcome["answers"] < 99 {
		t.Errorf("too few: %d files, %v", files, outcome)
	}
}

type recording struct{ contentType, body string }

// check says what the recording turned out to be.
func (rec recording) check(t *testing.T) string {
	p := answering(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", rec.contentType)
		io.WriteString(w, rec.body)
	})
	events, err := llmtest.Contract(t, p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if err == nil {
		answer := events[len(events)-1].Response
		rec.compare(t, answer)
		goesBack(t, p, answer)
		return "answers"
	}
	switch {
	case strings.Contains(rec.body, `"error"`) && !errors.Is(err, llm.ErrStream):
		if !errors.Is(err, llm.ErrQuota) && !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("the recorded error is %v", err)
		}
		return "errors"
	case strings.Contains(rec.body, "chat.completion"), strings.Contains(rec.body, "text_completion"):
		if !errors.Is(err, llm.ErrStream) || len(events) > 0 {
			t.Errorf("another API's answer: %v after %d events", err, len(events))
		}
		t.Log("of another API")
		return "of another API"
	}
	for payload := range strings.SplitSeq(rec.body, "data: ") { // two lines of one recording lack a brace
		if payload = strings.TrimSpace(payload); payload != "" && !json.Valid([]byte(payload)) && errors.Is(err, llm.ErrStream) {
			return "damaged"
		}
	}
	t.Errorf("%v after %d events", err, len(events))
	return "failures"
}

// goesBack sends an answer and results to its calls to a server as strict as the API.
func goesBack(t *testing.T, p *Provider, answer *llm.Response) {
	var results []llm.ToolResult
	for _, c := range answer.ToolCalls() {
		results = append(results, llm.ToolResult{CallID: c.ID, Content: llm.TextParts("x")})
	}
	segments, err := p.encode(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("x"), answer.Message, llm.ToolResults(results...)}})
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, bytes.Join(segments, nil))
}

// compare holds an answer against the output that the API repeats as a whole at the end of a stream.
func (rec recording) compare(t *testing.T, got *llm.Response) {
	var last struct {
		Output   []json.RawMessage
		Response struct{ Output []json.RawMessage }
	}
	for line := range strings.Lines(rec.body) {
		if payload, ok := strings.CutPrefix(line, "data:"); ok && strings.Contains(payload, `"response.completed"`) {
			if err := json.Unmarshal([]byte(payload), &last); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if rec.contentType == "application/json" {
		if err := json.Unmarshal([]byte(rec.body), &last); err != nil {
			t.Fatal(err)
		}
	}
	var want, have []string
	for _, raw := range append(last.Output, last.Response.Output...) {
		want = append(want, flat(t, raw)...)
	}
	for _, part := range got.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			have = append(have, "text "+part.Text)
		case llm.Thinking:
			if part.Text != "" {
				have = append(have, "summary "+part.Text)
			}
			if part.Signature != "" {
				have = append(have, "encrypted")
			}
		case llm.ToolCall:
			have = append(have, "call "+part.ID+part.Name+part.Args)
		case llm.Opaque:
			var item struct{ Type, ID string }
			if err := json.Unmarshal([]byte(part.Data), &item); err != nil {
				t.Fatal(err)
			}
			have = append(have, item.Type+" "+item.ID)
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-recorded output +answer:\n%s", diff)
	}
}

// flat is what an item of the output says.
func flat(t *testing.T, raw json.RawMessage) (out []string) {
	var item struct {
		Type, ID, Name, Arguments, Input string
		Content, Summary                 []struct{ Text string }
		Encrypted                        string `json:"encrypted_content"`
		CallID                           string `json:"call_id"`
	}
	var head struct{ Type, ID string }
	if err := json.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	switch head.Type {
	case "message", "reasoning", "function_call", "custom_tool_call":
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
	default:
		return []string{head.Type + " " + head.ID}
	}
	for _, c := range item.Content {
		out = append(out, "text "+c.Text)
	}
	for _, s := range item.Summary {
		out = append(out, "summary "+s.Text)
	}
	if item.Encrypted != "" {
		out = append(out, "encrypted") // each time anew
	}
	if item.CallID != "" {
		out = append(out, "call "+item.CallID+item.Name+item.Arguments+item.Input)
	}
	return out
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
	case "json_body":
		return []recording{{"application/json", data}}
	}
	return cassette(data)
}

// cassette reads the response bodies of a YAML recording: block scalars and quoted strings, all that these files have.
func cassette(data string) []recording {
	var out []recording
	add := func(body string) {
		kind := "text/event-stream"
		if strings.HasPrefix(strings.TrimSpace(body), "{") {
			kind = "application/json"
		}
		out = append(out, recording{kind, body})
	}
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
			add(b.String())
		case inResponse && strings.HasPrefix(text, `body: "`):
			if body, err := strconv.Unquote(strings.TrimPrefix(text, "body: ")); err == nil {
				add(body)
			}
		case inResponse && strings.HasPrefix(text, "body: '"):
			add(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(text, "body: '"), "'"), "''", "'"))
		}
	}
	return out
}
