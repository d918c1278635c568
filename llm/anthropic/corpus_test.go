package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

const corpora = "../../../shared/corpora/"

// answering returns a provider whose server always sends the same response.
func answering(t *testing.T, answer http.Handler) *Provider {
	return provider(t, Options{BaseURL: "http://x.test", HTTPClient: llmtest.PipeClient(t, answer),
		IdleTimeout: time.Minute})
}

// TestErrorCorpus runs this provider's cases of the corpus.
func TestErrorCorpus(t *testing.T) {
	const (
		begin = `data: {"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1}}}` + "\n\n"
		end   = `data: {"type":"message_stop"}` + "\n\n"
	)
	ran := 0
	for _, c := range providertest.ErrorCases(t, corpora+"provider_errors") {
		if c.Provider == "anthropic" {
			ran++
			t.Run(c.ID, func(t *testing.T) { c.Check(t, answering(t, c.Answer(begin, end)), nil) })
		}
	}
	t.Logf("%d cases ran", ran)
	if ran < 13 {
		t.Errorf("only %d cases ran", ran)
	}
}

// TestStreamCorpus decodes recordings of the real API, and some of others: the contract holds for
// all of them.
func TestStreamCorpus(t *testing.T) {
	ran, answers := map[string]int{}, 0
	for _, rec := range providertest.StreamCorpus(t, corpora+"provider_streams", "anthropic") {
		ran[rec.Kind]++
		t.Run(fmt.Sprintf("%s/%d", rec.Name, rec.N), func(t *testing.T) {
			events, err := providertest.Contract(t,
				answering(t, rec).Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
			if err == nil {
				answers++
			}
			// A complete recording of this API must decode.
			body := string(rec.Body)
			whole := strings.Contains(body, `"message_stop"`) && strings.Contains(body, `"message_start"`) ||
				strings.HasPrefix(rec.ContentType, "application/json") && strings.Contains(body, `"stop_reason"`)
			if whole && err != nil {
				t.Errorf("%v after %d events", err, len(events))
			}
		})
	}
	t.Logf("recordings that ran: %v, of which %d are answers", ran, answers)
	if answers < 40 {
		t.Errorf("only %d answers were decoded", answers)
	}
}
