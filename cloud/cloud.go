package cloud

import (
	"cmp"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/internal/proxied"
	"github.com/attractor-go/attractor/llm/providers"
)

// Credentials returns the credentials of all clouds by their providers, for attractor.Config.
func Credentials() map[string]providers.Credentials {
	return map[string]providers.Credentials{"amazon-bedrock": AWS, "google-vertex": Google}
}

const (
	// lookupTime limits the time of one lookup of credentials, with all servers that it asks.
	lookupTime = 30 * time.Second
	// early is the time before their expiry at which credentials are renewed.
	early = time.Minute
)

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// authorizing returns a client that sends the requests of another one, or of Go's default one if
// that is nil, with the headers that a function adds.
func authorizing(client *http.Client, authorize func(*http.Request) error) *http.Client {
	with := *cmp.Or(client, new(http.Client))
	base := cmp.Or(with.Transport, proxied.Transport())
	with.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		clone := req.Clone(req.Context()) // a RoundTripper does not change its request
		if err := authorize(clone); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // err is what the caller needs
			}
			return nil, err
		}
		return base.RoundTrip(clone)
	})
	return &with
}
