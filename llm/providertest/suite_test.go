package providertest_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestAnthropic(t *testing.T) {
	providertest.Suite(t, func(t *testing.T, c providertest.Config) llm.Provider {
		p, err := anthropic.New(anthropic.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, HTTPClient: c.Client,
			IdleTimeout: c.Idle})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
