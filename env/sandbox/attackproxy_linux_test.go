package sandbox_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Names that lead to this machine. The proxy of a sandbox may be used for named alone, on the ports
// of the fronts.
const (
	named   = "named.example"
	unnamed = "unnamed.example"
	hidden  = "hidden.example" // may be used too, but not the address that it leads to
)

// fronts starts a server for TLS and one for plain requests. They note whoever asks them for
// another host than the named one.
func (w *world) fronts() {
	note := func(what, host string) {
		if host, _, err := net.SplitHostPort(host); err != nil || host != named {
			w.hit(toHost, "%s for %q", what, host)
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		note("request", r.Host)
		_, _ = io.WriteString(answer, "got it\n") // the attacker may have ended
	}))
	made := httptest.NewTLSServer(nil)
	certificates := made.TLS.Certificates
	made.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	w.do(err)
	config := &tls.Config{Certificates: certificates, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config,
		error) {
		note("TLS", net.JoinHostPort(hello.ServerName, "0"))
		return nil, nil
	}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.front(c, config) })
		}
	})
	w.ports["tls"], w.ports["plain"] = portOf(l.Addr().String()), portOf(plain.Listener.Addr().String())
	w.atEnd(func() {
		plain.Close()
		w.do(l.Close())
		all.Wait()
	})
}

// front answers a client that begins TLS, and notes one that sends something else.
func (w *world) front(c net.Conn, config *tls.Config) {
	defer c.Close()
	r := bufio.NewReader(c)
	w.do(c.SetDeadline(time.Now().Add(time.Minute)))
	const handshake = 0x16
	if first, err := r.Peek(1); err != nil {
		return
	} else if first[0] != handshake {
		w.hit(toHost, "not TLS")
		_, _ = io.WriteString(c, "got it\n") // the attacker may have ended
		return
	}
	_ = tls.Server(peeked{c, r}, config).Handshake() // the proxy or the attacker may have ended
}

// peeked is a connection whose first bytes have been looked at.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// allowed returns the hosts that a sandbox with a proxy allows.
func (w *world) allowed() []string {
	return []string{named + ":" + w.ports["tls"], named + ":" + w.ports["plain"], "127.0.0.1:" + w.ports["tls"],
		"127.0.0.1:" + w.ports["plain"], hidden + ":" + portOf(w.ports["tcp4"])}
}

// openProxy starts a proxy that refuses nothing and finds every name on this machine. It returns
// its URL.
func (w *world) openProxy() (url string, end func()) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+portOf(address))
	}
	pages := &http.Transport{DialContext: dial}
	var tunnels sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnels.Add(1)
			defer tunnels.Done()
			w.tunnel(answer, r, dial)
			return
		}
		r.RequestURI = ""
		response, err := pages.RoundTrip(r)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		_, _ = io.Copy(answer, response.Body) // the attacker may have ended
	}))
	return server.URL, func() {
		server.Close()
		tunnels.Wait()
		pages.CloseIdleConnections()
	}
}

// tunnel joins a client with the host that it asks for, until one of them ends.
func (w *world) tunnel(answer http.ResponseWriter, r *http.Request,
	dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	host, err := dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
		return
	}
	answer.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(answer).Hijack()
	if err = errors.Join(err, buffered.Flush()); err != nil {
		w.t.Error(err)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(host, buffered); _ = host.Close() })
	_, _ = io.Copy(client, host) // either end may have closed
	_ = client.Close()
	both.Wait()
}
