package proxy

import (
	"cmp"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// forwarder returns the handler of requests that are not encrypted. A request is read and written
// anew, so that the server sees the same requests and the same host as the proxy.
func (p *Proxy) forwarder() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:       asAsked,
		Transport:     &p.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  p.cannotForward,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			body := &patient{r.Body, http.NewResponseController(w), p.idle}
			if body.limit() != nil {
				return // the client has gone
			}
			r.Body = body
		}
		host, port, refusal := p.allow(hostOf(r.URL))
		if refusal != nil {
			write(w, p.refuse(http.StatusForbidden, *refusal))
			return
		}
		// of all its spellings the one that was judged
		r.URL.Host = host.Authority(port, 80)
		// an upgraded connection could carry requests to any host
		for _, name := range []string{"Connection", "Upgrade", "Proxy-Authorization"} {
			r.Header.Del(name)
		}
		forward.ServeHTTP(w, r)
	})
}

// asAsked makes the request to the server the one that the client has sent, with the host of its
// URL.
func asAsked(r *httputil.ProxyRequest) {
	r.Out.Host = r.Out.URL.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // ReverseProxy leaves out what it cannot parse
}

// patient is the body of a request. Reads fail if the client sends nothing for the time of idle.
type patient struct {
	io.ReadCloser
	conn *http.ResponseController
	idle time.Duration
}

// Read reads what the client sends. The deadline stays, because the server reads the rest of a body
// that nobody wants, but not after the end, because a client is silent while it waits for the
// answer.
func (b *patient) Read(into []byte) (n int, err error) {
	if err := b.limit(); err != nil {
		return 0, err
	}
	if n, err = b.ReadCloser.Read(into); errors.Is(err, io.EOF) {
		err = cmp.Or(b.conn.SetReadDeadline(time.Time{}), err)
	}
	return n, err
}

// limit lets the client be silent for the time of idle from now on.
func (b *patient) limit() error { return b.conn.SetReadDeadline(time.Now().Add(b.idle)) }

// cannotForward answers a request whose server cannot be reached.
func (p *Proxy) cannotForward(w http.ResponseWriter, r *http.Request, err error) {
	host, port, refusal := p.allow(hostOf(r.URL))
	if refusal != nil { // cannot happen: the request was allowed
		write(w, p.refuse(http.StatusForbidden, *refusal))
		return
	}
	write(w, p.refuse(unreached(host, port, err)))
}

// hostOf returns the host and the port of an http URL.
func hostOf(u *url.URL) (name, port string) {
	if port = u.Port(); port == "" {
		port = "80"
	}
	return u.Hostname(), port
}

// answer returns an answer of the proxy itself. It ends the connection.
func answer(status int, text string) *http.Response {
	text += "\n"
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + oneLine(strings.TrimSpace(text)), ProtoMajor: 1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)), Close: true,
	}
}

// write sends an answer of the proxy itself to a client.
func write(w http.ResponseWriter, r *http.Response) {
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	w.Header().Set("Connection", "close")
	w.WriteHeader(r.StatusCode)
	_, _ = io.Copy(w, r.Body) // the client may have gone
}
