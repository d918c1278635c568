package llmtest_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestAnthropic(t *testing.T) {
	llmtest.Suite(t, func(t *testing.T, c llmtest.Config) llm.Provider {
		p, err := anthropic.New(anthropic.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, HTTPClient: c.Client, IdleTimeout: c.Idle})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
