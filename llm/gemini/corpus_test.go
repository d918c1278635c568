package gemini

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

const corpora = "../../../shared/corpora/"

// TestG5_ErrorCorpus runs this provider's cases of the corpus.
func TestG5_ErrorCorpus(t *testing.T) {
	// No capacity is no quota: the server says when to try again, and a provider has no second
	// model to fall back to.
	decided := map[string]error{"g_capacity_503": llm.ErrOverloaded}
	ran := 0
	for _, c := range providertest.ErrorCases(t, corpora+"provider_errors") {
		if c.Provider == "gemini" {
			ran++
			t.Run(c.ID, func(t *testing.T) { c.Check(t, answering(t, c.Answer("", "")), decided[c.ID]) })
		}
	}
	t.Logf("%d cases ran, %d of them decided otherwise", ran, len(decided))
	if ran < 14 {
		t.Errorf("only %d cases ran", ran)
	}
}

// TestStreamCorpus decodes recordings of the real API, and some of others: the contract holds for
// all of them.
func TestStreamCorpus(t *testing.T) {
	files, ran, answers := map[string]bool{}, map[string]int{}, 0
	for _, rec := range providertest.StreamCorpus(t, corpora+"provider_streams", "gemini") {
		files[rec.Name] = true
		ran[rec.Kind]++
		t.Run(fmt.Sprintf("%s/%d", rec.Name, rec.N), func(t *testing.T) {
			events, err := providertest.Contract(t,
				answering(t, rec).Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
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
			case !pieces && err != nil: // a complete recording of this API must decode
				t.Errorf("%v after %d events", err, len(events))
			}
		})
	}
	t.Logf("%d files; recordings that ran: %v, of which %d are answers", len(files), ran, answers)
	if len(files) < 104 || answers < 120 {
		t.Errorf("%d files, %d answers", len(files), answers)
	}
}
