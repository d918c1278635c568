package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// StreamCorpus returns the [Recordings] of a corpus. It skips the test if the corpus is missing.
func StreamCorpus(t *testing.T, dir, provider string) []Recording {
	t.Helper()
	list, err := Recordings(dir, provider)
	skipWithout(t, err)
	return list
}

// skipWithout skips the test if the error reports a missing corpus, and fails it for any other
// error.
func skipWithout(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// ErrorCase is a response in a corpus of failures, with its meaning.
type ErrorCase struct {
	ID, Provider string
	// Phase is response, or sse_midstream if the body follows the beginning of a stream. Other
	// phases have no response.
	Phase   string
	Status  int
	Headers map[string]string
	Body    string
	// Class is the name of the error's kind, or finish: and the reason if it is no error.
	Class string `json:"error_class"`
	// Retryable is nil if the corpus does not say.
	Retryable *bool
	// RetryAfter is a number of milliseconds, null if the response names no delay, or "date" if the
	// delay depends on the clock.
	RetryAfter json.RawMessage `json:"retry_after_ms"`
}

// ErrorCases returns the cases in the file cases.jsonl of a corpus. It skips the test if the file
// is missing.
func ErrorCases(t *testing.T, dir string) (cases []ErrorCase) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "cases.jsonl"))
	skipWithout(t, err)
	for line := range bytes.Lines(data) {
		var c ErrorCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("cases.jsonl: %v", err)
		}
		cases = append(cases, c)
	}
	return cases
}

// Answer returns a handler that sends this case's response to every request. In the middle of a
// stream the body stands between begin and end.
func (c ErrorCase) Answer(begin, end string) http.Handler {
	answer := Recording{Status: c.Status, ContentType: oneJSON, Body: []byte(c.Body)}
	if c.Phase == "sse_midstream" {
		answer = Recording{Status: http.StatusOK, ContentType: eventStream, Body: []byte(begin + c.Body + end)}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the response does not depend on the request
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		answer.ServeHTTP(w, r)
	})
}

// classes maps the corpus's classes to kinds of package llm. Those are finer: in the corpus, an
// overload and a gateway's timeout are server errors.
var classes = map[string][]error{
	"InvalidRequestError": {llm.ErrInvalidRequest},
	"AuthenticationError": {llm.ErrAuthentication},
	"AccessDeniedError":   {llm.ErrAccessDenied},
	"NotFoundError":       {llm.ErrNotFound},
	"ContentFilterError":  {llm.ErrContentFilter},
	"QuotaExceededError":  {llm.ErrQuota},
	"ContextLengthError":  {llm.ErrContextLength},
	"RateLimitError":      {llm.ErrRateLimit},
	"StreamError":         {llm.ErrStream},
	"ServerError":         {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout},
}

// Check calls a provider whose server sends this case's [ErrorCase.Answer], and checks the error's
// kind, whether it is retryable, and the delay. A decision, unless nil, is a kind that replaces the
// corpus's class, and decides whether the error is retryable.
func (c ErrorCase) Check(t *testing.T, p llm.Provider, decision error) {
	t.Helper()
	events, err := Contract(t, p.Stream(t.Context(), newRequest()))
	if reason, ok := strings.CutPrefix(c.Class, "finish:"); ok {
		if err != nil || string(events[len(events)-1].Response.Finish.Reason) != reason {
			t.Errorf("%d events and %v, want the end %s", len(events), err, reason)
		}
		return
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, want %s", err, c.Class)
	}
	kinds, retryable := classes[c.Class], c.Retryable
	if decision != nil {
		again := llm.Retryable(&llm.Error{Kind: decision})
		kinds, retryable = []error{decision}, &again
	}
	if !slices.Contains(kinds, e.Kind) {
		t.Errorf("%v, want %s", err, c.Class)
	}
	if retryable != nil && *retryable != llm.Retryable(err) {
		t.Errorf("%v: retryable %v", err, llm.Retryable(err))
	}
	var ms float64
	compared := decision == nil || string(c.RetryAfter) != "null"
	if compared && json.Unmarshal(c.RetryAfter, &ms) == nil && e.RetryAfter.Milliseconds() != int64(ms) {
		t.Errorf("retry after %v, want %s ms", e.RetryAfter, c.RetryAfter)
	}
	if e.Message == "" || e.Provider != p.Name() {
		t.Errorf("an error without a message, or of another provider: %+v", e)
	}
}
