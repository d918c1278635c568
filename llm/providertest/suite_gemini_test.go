package providertest_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestGemini(t *testing.T) {
	providertest.Suite(t, func(t *testing.T, c providertest.Config) llm.Provider {
		p, err := gemini.New(gemini.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, HTTPClient: c.Client,
			IdleTimeout: c.Idle})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}, "answer/call with broken arguments") // arguments are an object here; see TestMalformedCall in llm/gemini
}
