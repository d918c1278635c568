package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// runProxy runs a command with a proxy on loopback that leads to the one on a Unix socket.
func runProxy(args []string) (code int, err error) {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	socket := flags.String("socket", "", "")
	listen := flags.String("listen", "127.0.0.1:0", "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if *socket == "" || flags.NArg() == 0 {
		return exitUsage, errors.New("it needs --socket PATH and, after --, a command")
	}
	if err := raiseLoopback(); err != nil {
		return exitUsage, fmt.Errorf("cannot bring up the loopback interface: %w", err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return exitUsage, fmt.Errorf("cannot listen for the command's connections: %w", err)
	}
	f := newForwarder(listener, *socket)
	defer f.close()
	return runCommand(flags.Args(), withProxy(os.Environ(), "http://"+listener.Addr().String()))
}

// withProxy returns an environment in which programs find the proxy. It replaces other proxies, which cannot be reached.
func withProxy(environ []string, proxy string) []string {
	const local = "localhost,127.0.0.1,::1"
	set := []string{
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" + proxy, "NO_PROXY=" + local,
		"http_proxy=" + proxy, "https_proxy=" + proxy, "all_proxy=" + proxy, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1", // fetch of Node.js
	}
	drop := []string{"ftp_proxy", "rsync_proxy", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy"}
	for _, entry := range set {
		name, _, _ := strings.Cut(entry, "=")
		drop = append(drop, name)
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(drop, func(d string) bool { return strings.EqualFold(d, name) })
	})
	return append(environ, set...)
}

// maxConnections limits the connections that are forwarded at a time; others wait. The proxy takes fewer and refuses the others, so that
// they do not wait long.
const maxConnections = 1024

// forwarder passes on connections to a Unix socket.
type forwarder struct {
	listener net.Listener
	socket   string
	all      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

func newForwarder(l net.Listener, socket string) *forwarder {
	f := &forwarder{listener: l, socket: socket, open: map[net.Conn]bool{}}
	f.all.Go(f.accept)
	return f
}

// accept forwards connections until the listener is closed.
func (f *forwarder) accept() {
	places := make(chan struct{}, maxConnections)
	for {
		places <- struct{}{}
		client, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files
			<-places
			time.Sleep(20 * time.Millisecond)
			continue
		}
		f.all.Go(func() {
			defer func() { <-places }()
			f.forward(client)
		})
	}
}

// forward passes on the bytes of one connection in both directions. The proxy ends connections on which nothing is sent.
func (f *forwarder) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", f.socket)
	if err != nil {
		return // the client sees a closed connection
	}
	defer server.Close()
	if !f.keep(client, server) {
		return
	}
	defer f.forget(client, server)
	var other sync.WaitGroup
	other.Go(func() { copyHalf(client, server) })
	copyHalf(server, client)
	other.Wait()
}

// copyHalf copies one direction. At its end it tells the receiver; if it fails, it closes both.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	}
	if err != nil {
		to.Close()
		from.Close()
	}
}

// keep notes open connections. It reports whether the forwarder is open.
func (f *forwarder) keep(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		f.open[c] = true
	}
	return !f.closed
}

func (f *forwarder) forget(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		delete(f.open, c)
	}
}

// close ends all connections. It does not wait for a connection that is being made: the process ends anyway.
func (f *forwarder) close() {
	f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.open {
		c.Close()
	}
}
