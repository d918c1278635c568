package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

const corpora = "../../../shared/corpora/"

// TestG5_ErrorCorpus runs this provider's cases of the corpus.
func TestG5_ErrorCorpus(t *testing.T) {
	const begin = `data: {"type":"response.created","response":{"id":"r","model":"m"}}` + "\n\n"
	// The class says no; the header and retryable say yes. So it is a server error.
	decided := map[string]error{"x_should_retry_true": llm.ErrServer}
	ran := map[string]int{}
	for _, c := range providertest.ErrorCases(t, corpora+"provider_errors") {
		if c.Provider == "openai" {
			ran[c.Phase]++
			t.Run(c.ID, func(t *testing.T) { c.Check(t, answering(t, c.Answer(begin, "")), decided[c.ID]) })
		}
	}
	t.Logf("cases that ran: %v", ran)
	if ran["response"] < 17 || ran["sse_midstream"] < 6 {
		t.Errorf("too few cases: %v", ran)
	}
}

// TestG1_StreamCorpus decodes recordings of the real API. Some are of the older Chat Completions
// and Completions APIs: they belong to another provider, and each is one error here.
func TestG1_StreamCorpus(t *testing.T) {
	files, ran, outcome := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, rec := range providertest.StreamCorpus(t, corpora+"provider_streams", "openai") {
		files[rec.Name] = true
		ran[rec.Kind]++
		t.Run(fmt.Sprintf("%s/%d", rec.Name, rec.N), func(t *testing.T) { outcome[check(t, rec)]++ })
	}
	t.Logf("%d files, recordings that ran: %v, of which are %v", len(files), ran, outcome)
	if len(files) < 120 || outcome["answers"] < 99 {
		t.Errorf("too few: %d files, %v", len(files), outcome)
	}
}

// check decodes a recording and returns what it turned out to be.
func check(t *testing.T, rec providertest.Recording) string {
	p, body := answering(t, rec), string(rec.Body)
	events, err := providertest.Contract(t,
		p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if err == nil {
		answer := events[len(events)-1].Response
		compare(t, rec, answer)
		goesBack(t, p, answer)
		return "answers"
	}
	switch {
	case strings.Contains(body, `"error"`) && !errors.Is(err, llm.ErrStream):
		if !errors.Is(err, llm.ErrQuota) && !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("the recorded error is %v", err)
		}
		return "errors"
	case strings.Contains(body, "chat.completion"), strings.Contains(body, "text_completion"):
		if !errors.Is(err, llm.ErrStream) || len(events) > 0 {
			t.Errorf("another API's answer: %v after %d events", err, len(events))
		}
		t.Log("of another API")
		return "of another API"
	}
	for payload := range strings.SplitSeq(body, "data: ") { // two lines of one recording lack a brace
		if payload = strings.TrimSpace(payload); payload != "" && !json.Valid([]byte(payload)) &&
			errors.Is(err, llm.ErrStream) {
			return "damaged"
		}
	}
	t.Errorf("%v after %d events", err, len(events))
	return "failures"
}

// goesBack sends a response and results of its calls to a server as strict as the API.
func goesBack(t *testing.T, p *Provider, answer *llm.Response) {
	var results []llm.ToolResult
	for _, c := range answer.ToolCalls() {
		results = append(results, llm.ToolResult{CallID: c.ID, Content: llm.TextParts("x")})
	}
	segments, err := p.encode(&llm.Request{Model: "m",
		Messages: []llm.Message{llm.User("x"), answer.Message, llm.ToolResults(results...)}})
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, bytes.Join(segments, nil))
}

// compare compares a response with the output that the API repeats as a whole at the end of a
// stream.
func compare(t *testing.T, rec providertest.Recording, got *llm.Response) {
	var last struct {
		Output   []json.RawMessage
		Response struct{ Output []json.RawMessage }
	}
	for line := range strings.Lines(string(rec.Body)) {
		if payload, ok := strings.CutPrefix(line, "data:"); ok && strings.Contains(payload, `"response.completed"`) {
			if err := json.Unmarshal([]byte(payload), &last); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if strings.HasPrefix(rec.ContentType, "application/json") {
		if err := json.Unmarshal(rec.Body, &last); err != nil {
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

// flat returns the contents of an output item.
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
		out = append(out, "encrypted") // different each time
	}
	if item.CallID != "" {
		out = append(out, "call "+item.CallID+item.Name+item.Arguments+item.Input)
	}
	return out
}
