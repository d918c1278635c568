package providers_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// answers has a stream of each format up to its reason to stop, and what belongs to the response
// after it.
var answers = map[string]struct{ until, rest string }{
	"anthropic": {stream(antStart, antText0, fmt.Sprintf(antDelta, 0), fmt.Sprintf(antStop, 0), fmt.Sprintf(antEnd, 7)),
		stream(antOver)},
	"gemini":            {stream(gemText, fmt.Sprintf(gemEnd, 7)), ""},
	"openai-compatible": {stream(chatText, fmt.Sprintf(chatEnd, "stop")), stream(chatUse, "[DONE]")},
}

// TestX7_EventsThatSayNothing has events by which gateways keep a connection alive, and ends of
// streams in the words of another format.
func TestX7_EventsThatSayNothing(t *testing.T) {
	for provider, answer := range answers {
		whole := answer.until + answer.rest
		for name, body := range map[string]string{
			"no data":           strings.ReplaceAll(whole, "data: ", "data:\n\ndata: "),
			"blanks":            strings.ReplaceAll(whole, "data: ", "data:  \n\ndata: "),
			"empty objects":     strings.ReplaceAll(whole, "data: ", "event: ping\ndata: {}\n\ndata: "),
			"null":              strings.ReplaceAll(whole, "data: ", "data: null\n\ndata: "),
			"comments as data":  strings.ReplaceAll(whole, "data: ", "data: : PROCESSING\n\ndata: "),
			"done":              whole + stream("[DONE]"),
			"done without rest": answer.until + stream("[DONE]"),
		} {
			r, err := streamed(t, provider, body)
			if err != nil {
				t.Errorf("%s, %s: %v", provider, name, err)
			} else if r.Text() != "Yes." || r.Finish.Reason != llm.FinishStop {
				t.Errorf("%s, %s: %s", provider, name, said(r))
			}
		}
	}
	_, err := streamed(t, "openai", stream(`{"type":"response.created","response":{"id":"r1"}}`, "{}", "[DONE]"))
	if !errors.Is(err, llm.ErrStream) || !strings.Contains(err.Error(), "ended before its last event") {
		t.Errorf("a response that is done before it is complete: %v", err)
	}
	_, err = streamed(t, "anthropic", stream(antStart, `{"error":{"type":"overloaded_error","message":"Busy"}}`))
	if !errors.Is(err, llm.ErrOverloaded) {
		t.Errorf("an error without a type: %v", err)
	}
}

// TestX7_BrokenAfterTheReasonToStop breaks connections off, or leaves them open for ever, after all
// that the response needs.
func TestX7_BrokenAfterTheReasonToStop(t *testing.T) {
	for provider, answer := range answers {
		for name, end := range map[string]func(r *http.Request){
			"broken off": func(*http.Request) { panic(http.ErrAbortHandler) },
			"left open":  func(r *http.Request) { <-r.Context().Done() },
		} {
			t.Run(provider+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					r, err := handled(t, provider, func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.WriteString(w, answer.until)
						http.NewResponseController(w).Flush()
						end(r)
					})
					if err != nil {
						t.Fatal(err)
					}
					if r.Text() != "Yes." || r.Finish.Reason != llm.FinishStop {
						t.Error(said(r))
					}
					if took := time.Since(begin); took > time.Minute { // of the bubble
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

// TestI11_OddUsage has counts of tokens in forms that gateways give them.
func TestI11_OddUsage(t *testing.T) {
	anthropic := func(start, end string) string {
		return strings.Replace(stream(antStart), `{"input_tokens":5,"output_tokens":1}`, start, 1) +
			stream(antText0, fmt.Sprintf(antDelta, 0), fmt.Sprintf(antStop, 0),
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+end+`}`, antOver)
	}
	openai := func(usage string) string {
		return stream(`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]}],"usage":` +
			usage + `}}`)
	}
	gemini := func(usage string) string {
		return stream(gemText, strings.Replace(gemEnd, `{"promptTokenCount":5,"candidatesTokenCount":%d}`, usage, 1))
	}
	for _, c := range []struct {
		provider, body        string
		input, cached, output int
	}{
		{"anthropic", anthropic(`{"input_tokens":100.0,"output_tokens":1.5}`, `{"output_tokens":"9"}`), 100, 0, 9},
		{"anthropic", anthropic(`[]`, `{"output_tokens":9}`), 0, 0, 9},
		{"anthropic", anthropic(`{"input_tokens":100,"cache_read_input_tokens":30}`,
			`{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9}`), 130, 30, 9},
		{"anthropic", anthropic(`{"input_tokens":0}`, `{"input_tokens":7,"cache_creation":null,"output_tokens":9}`), 7,
			0, 9},
		{"openai", openai(`{"input_tokens":100.0,"input_tokens_details":{"cached_tokens":500},"output_tokens":"5"}`),
			100, 100, 5},
		{"gemini", gemini(`{"promptTokenCount":"10","cachedContentTokenCount":900,"candidatesTokenCount":5.0}`), 10, 10,
			5},
		{"openai-compatible", stream(chatText, fmt.Sprintf(chatEnd, "stop"),
			`{"id":"c","choices":[],"usage":{"prompt_tokens":"5","completion_tokens":7.0}}`), 5, 0, 7},
	} {
		r, err := streamed(t, c.provider, c.body)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if u := r.Usage; r.Text() != "Yes." || u.Input != c.input || u.CacheRead != c.cached || u.Output != c.output {
			t.Errorf("%s: %s, %+v", c.body, said(r), u)
		}
	}
}

// TestX7_EndsInOtherWords has answers that say in other words, or not at all, that they have ended,
// and ones whose beginning is missing.
func TestX7_EndsInOtherWords(t *testing.T) {
	anthropic := func(end ...string) string {
		return stream(append([]string{antStart, antText0, fmt.Sprintf(antDelta, 0), fmt.Sprintf(antStop, 0)},
			end...)...)
	}
	const (
		created  = `{"type":"response.created","response":{"id":"r"}}`
		oaiDelta = `{"type":"response.output_text.delta","item_id":"m1","output_index":0,"delta":"Yes."}`
	)
	for _, c := range []struct{ provider, body string }{
		{"anthropic", anthropic(`{"type":"message_delta","delta":{"stop_reason":"stop"}}`, antOver)},
		{"anthropic", anthropic(`{"type":"message_delta","delta":{"stop_reason":null}}`, antOver)},
		{"anthropic", anthropic(`{"type":"message_delta","usage":{"output_tokens":3}}`, antOver)},
		{"anthropic", anthropic(antOver)},
		{"gemini", stream(gemText, `{"candidates":[{"finishReason":"stop"}]}`)},
		{"openai", stream(created, oaiDelta,
			`{"type":"response.done","response":{"id":"r","status":"completed","output":[]}}`)},
		{"openai", stream(created, oaiDelta,
			`{"type":"response.completed","response":{"id":"r","output":[{"type":"message","id":"m1","content":[{"type":"output_text","text":"Yes."}]}]}}`)},
	} {
		if r, err := streamed(t, c.provider, c.body); err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if r.Text() != "Yes." || r.Finish.Reason != llm.FinishStop {
			t.Errorf("%s: %s", c.body, said(r))
		}
	}
	_, err := streamed(t, "openai",
		stream(created, `{"type":"response.done","response":{"status":"failed","error":{"code":"server_error","message":"No."}}}`))
	if !errors.Is(err, llm.ErrServer) {
		t.Errorf("a failed response that is done: %v", err)
	}
}
