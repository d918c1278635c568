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

// StreamCorpus is [Recordings] for a test, which it skips where the corpus is missing.
func StreamCorpus(t *testing.T, dir, provider string) []Recording {
	t.Helper()
	list, err := Recordings(dir, provider)
	skipWithout(t, err)
	return list
}

// skipWithout skips the test when the error says that a corpus is missing, and fails it on any other.
func skipWithout(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// ErrorCase is an answer of a corpus of failures, with what it means.
type ErrorCase struct {
	ID, Provider string
	// Phase is response, or sse_midstream when the body comes after the beginning of a stream; others are no answers.
	Phase   string
	Status  int
	Headers map[string]string
	Body    string
	// Class is the name of the kind of error, or finish: and the reason when it is none.
	Class string `json:"error_class"`
	// Retryable is nil where the corpus does not say.
	Retryable *bool
	// RetryAfter is in milliseconds, null where there is nothing to wait for, or "date" when it depends on the clock.
	RetryAfter json.RawMessage `json:"retry_after_ms"`
}

// ErrorCases reads the file cases.jsonl of a corpus of failures. A missing one skips the test.
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

// Answer is what a server says in this case, to whatever is asked; in the middle of a stream it comes after begin and before end.
func (c ErrorCase) Answer(begin, end string) http.Handler {
	answer := Recording{Status: c.Status, ContentType: oneJSON, Body: []byte(c.Body)}
	if c.Phase == "sse_midstream" {
		answer = Recording{Status: http.StatusOK, ContentType: eventStream, Body: []byte(begin + c.Body + end)}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the answer is the same whatever is asked
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		answer.ServeHTTP(w, r)
	})
}

// kinds are the corpus' classes in the words of package llm, which are finer: an overload and a gateway's timeout are a server's
// errors there.
func (c ErrorCase) kinds() []error {
	switch c.Class {
	case "InvalidRequestError":
		return []error{llm.ErrInvalidRequest}
	case "AuthenticationError":
		return []error{llm.ErrAuthentication}
	case "AccessDeniedError":
		return []error{llm.ErrAccessDenied}
	case "NotFoundError":
		return []error{llm.ErrNotFound}
	case "ContentFilterError":
		return []error{llm.ErrContentFilter}
	case "QuotaExceededError":
		return []error{llm.ErrQuota}
	case "ContextLengthError":
		return []error{llm.ErrContextLength}
	case "RateLimitError":
		return []error{llm.ErrRateLimit}
	case "StreamError":
		return []error{llm.ErrStream}
	case "ServerError":
		return []error{llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout}
	}
	return nil
}

// Check calls the provider, whose server has to give this case's [ErrorCase.Answer], and compares what comes of it: the kind, whether
// to try again and when. A decision is a kind that takes the place of the corpus' class and of what it says about
// trying again; nil means none.
func (c ErrorCase) Check(t *testing.T, p llm.Provider, decision error) {
	t.Helper()
	events, err := Contract(t, p.Stream(t.Context(), ask()))
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
	kinds, retryable := c.kinds(), c.Retryable
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
	said := decision == nil || string(c.RetryAfter) != "null"
	if said && json.Unmarshal(c.RetryAfter, &ms) == nil && e.RetryAfter.Milliseconds() != int64(ms) {
		t.Errorf("retry after %v, want %s ms", e.RetryAfter, c.RetryAfter)
	}
	if e.Message == "" || e.Provider != p.Name() {
		t.Errorf("an error without a message, or of another provider: %+v", e)
	}
}
