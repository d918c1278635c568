package openai

import (
	"errors"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

const (
	endpoint = "/v1/responses"
	// unsigned is the scripted server's refusal of reasoning that it did not encrypt, such as the
	// reasoning in the fixtures.
	unsigned = "invalid_encrypted_content"
)

func TestWire(t *testing.T) {
	providertest.Wire(t, "testdata", providertest.WireConfig{Model: "gpt-x", Endpoint: endpoint, Unsigned: unsigned,
		Update: *update,
		New: func(t *testing.T, _ *providertest.WireCase, client *http.Client) llm.Provider {
			return provider(t, Options{BaseURL: "http://api.test/v1/", HTTPClient: client})
		}})
}

// An event's data belongs to the reader, so nothing that was decoded may change with it.
func TestStepKeepsNothing(t *testing.T) {
	for _, c := range providertest.WireCases(t, "testdata") {
		kept, fresh := newDecoder("openai", "m", nil), newDecoder("openai", "m", nil)
		for line := range strings.Lines(c.Section("response.sse")) {
			payload, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
			if !ok {
				continue
			}
			data := []byte(payload)
			progress, err := kept.Step(data)
			for i := range data {
				data[i] = 'x'
			}
			_, want := fresh.Step([]byte(payload))
			if diff := cmp.Diff(fresh.Out(), kept.Out()); diff != "" {
				t.Fatalf("%s: %s", c.Name, diff)
			}
			var a, b api.InBandError
			if errors.As(err, &a) && errors.As(want, &b) && string(a) != string(b) {
				t.Fatalf("%s: the error became %s", c.Name, a)
			}
			if err != nil || progress == api.Finished {
				break
			}
		}
		if diff := cmp.Diff(fresh.Finish(), kept.Finish()); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
}

// accepted fails the test unless a server as strict as the API accepts a body.
func accepted(t *testing.T, body []byte) {
	refused := providertest.Refusal(t, endpoint, http.Header{"Authorization": {"Bearer k"}}, body)
	if refused != "" && !strings.Contains(refused, unsigned) {
		t.Errorf("the body is refused: %s", refused)
	}
}
