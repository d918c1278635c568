package openaichat

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The stream contract holds, against the scripted server and all its faults.
func TestG1_StreamContract(t *testing.T) {
	providertest.Suite(t, func(t *testing.T, c providertest.Config) llm.Provider {
		p, err := New(Options{APIKey: c.APIKey, BaseURL: c.BaseURL + "/v1", HTTPClient: c.Client, IdleTimeout: c.Idle})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
