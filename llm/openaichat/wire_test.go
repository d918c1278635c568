package openaichat

import (
	"flag"
	"fmt"
	"net/http"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

func TestWire(t *testing.T) {
	providertest.Wire(t, "testdata", providertest.WireConfig{Model: "m", Endpoint: endpoint, Update: *update,
		New: func(t *testing.T, c *providertest.WireCase, client *http.Client) llm.Provider {
			o := Options{HTTPClient: client}
			c.Read(t, "options.json", &o)
			p := provider(t, o)
			ids := 0
			p.newID = func() string { ids++; return fmt.Sprintf("made%d", ids) }
			return p
		}})
}

const endpoint = "/v1/chat/completions"

// accepted fails the test unless a server as strict as the strictest one accepts a body.
func accepted(t *testing.T, body []byte) {
	if refused := providertest.Refusal(t, endpoint, http.Header{}, body); refused != "" {
		t.Errorf("the body is refused: %s", refused)
	}
}
