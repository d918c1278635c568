package anthropic

import (
	"flag"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

func TestWire(t *testing.T) {
	providertest.Wire(t, "testdata", providertest.WireConfig{Model: "claude-x", Endpoint: "/v1/messages",
		Header:   "Anthropic-Beta",
		Unsigned: "Invalid `signature`", Update: *update,
		New: func(t *testing.T, _ *providertest.WireCase, client *http.Client) llm.Provider {
			return provider(t, Options{BaseURL: "http://api.test/", HTTPClient: client})
		}})
}
