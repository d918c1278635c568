package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/netguard"
)

// Options are the choices for a Proxy.
type Options struct {
	// Hosts are the hosts that may be reached.
	Hosts netguard.Hosts
	// Dir is an existing directory for the socket, which only this user can enter. Empty means a
	// new one, which Close removes.
	Dir string
	// Resolver resolves their names. Nil means the system's.
	Resolver *net.Resolver
	// Idle ends a connection on which nothing was sent for that long, or on which a client does not
	// say what it wants. Zero means five minutes for the former and 30 seconds for the latter.
	Idle time.Duration
	// Connections limits the clients that are served at a time. Others wait. Zero means 512.
	Connections int
}

// Proxy serves clients until it is closed. All methods may be called concurrently.
type Proxy struct {
	dir, socket string // dir is empty if it is not the proxy's own
	hosts       netguard.Hosts
	dialer      *net.Dialer
	idle        time.Duration // of a tunnel
	patience    time.Duration // for what a client sends first
	most        int           // clients at a time
	server      http.Server
	transport   http.Transport
	plain       http.Handler
	tunnels     sync.WaitGroup
	ctx         context.Context // ends the tunnels
	cancel      context.CancelFunc
	served      chan error

	mu      sync.Mutex
	closed  bool
	refused []Refusal
	dropped int
}

// maxHeader limits the header of a client's request, in bytes.
const maxHeader = 64 << 10

// maxSocket is the most bytes that the path of a Unix socket has on Linux.
const maxSocket = 107

// New starts a proxy.
func New(o Options) (*Proxy, error) {
	own := "" // removed at the end
	if o.Dir == "" {
		var err error
		if own, err = os.MkdirTemp("", "attractor-proxy-"); err != nil {
			return nil, fmt.Errorf("cannot make a directory for the proxy's socket: %w", err)
		}
	}
	p := &Proxy{dir: own, socket: filepath.Join(cmp.Or(o.Dir, own), "proxy"), hosts: o.Hosts,
		served: make(chan error, 1),
		idle:   cmp.Or(o.Idle, 5*time.Minute), patience: cmp.Or(o.Idle, 30*time.Second),
		most: cmp.Or(o.Connections, 512)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.dialer = netguard.Guard{Named: o.Hosts}.Dialer(o.Resolver)
	p.transport = http.Transport{DialContext: p.dial, DisableCompression: true, MaxIdleConns: 32,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20, ResponseHeaderTimeout: p.idle}
	p.plain = p.forwarder()
	p.server = http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: p.patience, IdleTimeout: p.patience,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return p.ctx }}
	listener, err := net.Listen("unix", p.socket)
	if err != nil && len(p.socket) > maxSocket {
		err = fmt.Errorf("%w: the path %s has more than %d bytes; set TMPDIR to a directory with a shorter name", err,
			p.socket, maxSocket)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot listen on the proxy's socket: %w", err), p.removeDir())
	}
	go func() { p.served <- p.server.Serve(p.limit(listener)) }()
	return p, nil
}

// dial connects to a server for requests that are not encrypted.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := p.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &lively{c, p.idle}, nil
}

// Socket returns the path of the Unix socket on which the proxy listens.
func (p *Proxy) Socket() string { return p.socket }

// Close ends all connections, waits for their goroutines, and removes the socket.
func (p *Proxy) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	p.cancel()
	err := p.server.Close()
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	p.tunnels.Wait()
	p.transport.CloseIdleConnections()
	return errors.Join(err, p.removeDir())
}

// removeDir removes the socket's directory if it is the proxy's own.
func (p *Proxy) removeDir() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// begin counts a request that a Close has to wait for. It reports whether the proxy is open.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.tunnels.Add(1)
	}
	return !p.closed
}

// serve answers one request of a client.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.tunnels.Done()
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		http.Error(w, "This is an HTTP proxy: ask it for http:// URLs, or for a tunnel with CONNECT.",
			http.StatusBadRequest)
		return
	}
	p.plain.ServeHTTP(w, r)
}
