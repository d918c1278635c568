package gemini

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

const corpora = "../../../shared/corpora/"

// TestG5_ErrorCorpus runs the corpus' cases of this provider.
func TestG5_ErrorCorpus(t *testing.T) {
	kinds := map[string][]error{"InvalidRequestError": {llm.ErrInvalidRequest}, "AccessDeniedError": {llm.ErrAccessDenied},
		"NotFoundError": {llm.ErrNotFound}, "ContentFilterError": {llm.ErrContentFilter}, "QuotaExceededError": {llm.ErrQuota},
		"RateLimitError": {llm.ErrRateLimit}, "StreamError": {llm.ErrStream},
		// The corpus' ServerError is finer here.
		"ServerError": {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout}}
	// No capacity is no quota, the server itself says when to try again, and there is no second model to fall back to here.
	decided := map[string]string{"g_capacity_503": "ServerError"}
	f, err := os.Open(corpora + "provider_errors/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			ID, Provider, Phase, Body string
			Status                    int
			Class                     string `json:"error_class"`
			Retryable                 *bool
			RetryAfter                json.RawMessage `json:"retry_after_ms"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Provider != "gemini" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			rec := llmtest.Recording{Status: c.Status, ContentType: "application/json", Body: []byte(c.Body)}
			if c.Phase == "sse_midstream" {
				rec.ContentType = "text/event-stream"
			}
			resp, err := llm.Collect(answering(t, rec).Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
			if reason, ok := strings.CutPrefix(c.Class, "finish:"); ok {
				if err != nil || string(resp.Finish.Reason) != reason {
					t.Errorf("%+v, %v", resp, err)
				}
				return
			}
			class, retryable := c.Class, c.Retryable
			if other, ok := decided[c.ID]; ok {
				again := true
				class, retryable = other, &again
			}
			fits := false
			for _, kind := range kinds[class] {
				fits = fits || errors.Is(err, kind)
			}
			if !fits || retryable != nil && *retryable != llm.Retryable(err) {
				t.Errorf("%v, retryable %v; want %s", err, llm.Retryable(err), class)
			}
			var e *llm.Error
			if want, isNumber := strconv.Atoi(string(c.RetryAfter)); errors.As(err, &e) && isNumber == nil && e.RetryAfter.Milliseconds() != int64(want) {
				t.Errorf("retry after %v, want %d ms", e.RetryAfter, want)
			}
		})
	}
	t.Logf("%d cases ran, %d of them decided otherwise", ran, len(decided))
	if ran < 14 {
		t.Errorf("only %d cases ran", ran)
	}
}

// TestStreamCorpus decodes recordings of the real API, and some that are of others: whatever comes, the contract holds.
func TestStreamCorpus(t *testing.T) {
	list, err := llmtest.Recordings(corpora+"provider_streams", "gemini")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	files, ran, answers, scanned, chunks := map[string]bool{}, map[string]int{}, 0, 0, 0
	for _, rec := range list {
		files[rec.Name] = true
		ran[rec.Kind]++
		t.Run(fmt.Sprintf("%s/%d", rec.Name, rec.N), func(t *testing.T) {
			events, err := llmtest.Contract(t, answering(t, rec).Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
			if err == nil {
				answers++
			}
			body := string(rec.Body)
			if !strings.Contains(body, `"candidates"`) || !strings.Contains(body, `"finishReason"`) {
				return // of another API, or an error
			}
			pieces := strings.Contains(body, `"partialArgs"`)
			switch {
			case pieces && !errors.Is(err, llm.ErrUnsupported):
				t.Errorf("a call in pieces: %v after %d events", err, len(events))
			case !pieces && err != nil: // a recording of this very API that has its end must decode
				t.Errorf("%v after %d events", err, len(events))
			}
			all, fast := plain(t, body)
			chunks, scanned = chunks+all, scanned+fast
		})
	}
	t.Logf("%d files; recordings that ran: %v, of which %d are answers; %d of %d chunks took the fast path", len(files), ran, answers, scanned, chunks)
	if len(files) < 104 || answers < 120 || scanned < 60 {
		t.Errorf("%d files, %d answers, %d chunks", len(files), answers, scanned)
	}
}

// plain counts the chunks of a stream and those that the scanner takes, which are all that bring nothing but text.
func plain(t *testing.T, body string) (all, scanned int) {
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		all++
		more := strings.Contains(data, `"functionCall"`) || strings.Contains(data, `"thoughtSignature"`) || strings.Contains(data, `"finishReason"`)
		if _, ok := scanChunk([]byte(data)); ok {
			scanned++
		} else if !more {
			t.Errorf("a plain chunk took the slow path: %s", data)
		}
	}
	return all, scanned
}
