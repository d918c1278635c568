package proxied

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
)

// Refused says that a proxy did not open a tunnel to a server.
type Refused struct {
	Proxy  string // its URL, without user and password
	Status int    // of its answer to CONNECT
	Text   string // the status as the proxy words it
}

// Error says what can be done if the proxy would refuse again.
func (r *Refused) Error() string {
	text := fmt.Sprintf("the proxy %s refuses the connection: %s", r.Proxy, r.Text)
	switch {
	case r.Status == http.StatusProxyAuthRequired:
		return text + "; write its credentials into HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT"
	case r.Policy():
		return text + "; have it allow the host, or name the host in NO_PROXY"
	}
	return text
}

// Policy reports whether the proxy has refused what it would refuse again, such as a host that is
// not allowed or wrong credentials. Otherwise the same request may succeed later.
func (r *Refused) Policy() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return r.Status >= 400 && r.Status < 500
}

// Transport returns the transport for clients that have none of their own: [http.DefaultTransport],
// with errors that are a [*Refused]. It is the same for all.
var Transport = sync.OnceValue(func() http.RoundTripper {
	standard, is := http.DefaultTransport.(*http.Transport)
	if !is { // the program has its own
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		return &Refused{Proxy: proxy.Scheme + "://" + proxy.Host, Status: answer.StatusCode, Text: answer.Status}
	}
	return t
})
