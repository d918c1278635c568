package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/netguard"
)

// tunnel answers CONNECT: it connects to the host, checks that the client begins TLS with that
// host, and passes on the bytes of both sides.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "This connection cannot become a tunnel: use HTTP/1.1.", http.StatusBadRequest)
		return
	}
	defer client.Close()
	stop := context.AfterFunc(p.ctx, func() { client.Close() })
	defer stop()
	if client.SetDeadline(time.Now().Add(p.patience)) != nil {
		return
	}
	host, port, refusal := p.allow(splitHost(r.Host))
	if refusal != nil {
		_ = p.refuse(http.StatusForbidden, *refusal).Write(client) // the client may have gone
		return
	}
	server, err := p.dialer.DialContext(p.ctx, "tcp", host.WithPort(port))
	if err != nil {
		_ = p.refuse(unreached(host, port, err)).Write(client) // the client may have gone
		return
	}
	defer server.Close()
	stopServer := context.AfterFunc(p.ctx, func() { server.Close() })
	defer stopServer()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	hello, refusal := p.hello(client, buffered.Reader, host, port)
	if refusal != nil {
		p.record(*refusal)
		return
	}
	if hello != nil {
		p.pass(client, server, hello)
	}
}

// hello reads what a client sends first and returns it if it begins TLS with the host. Both results
// are nil if the client sent nothing that could be judged.
func (p *Proxy) hello(client net.Conn, buffered *bufio.Reader, host netguard.Host, port uint16) ([]byte, *Refusal) {
	if client.SetReadDeadline(time.Now().Add(p.patience)) != nil {
		return nil, nil
	}
	first, err := buffered.Peek(1)
	if err != nil {
		return nil, nil
	}
	refused := Refusal{Host: host.WithPort(port)}
	if first[0] != 22 { // the type of TLS records with a handshake
		refused.Why = "The sandbox closed a tunnel to " + refused.Host +
			": only TLS can be sent through one, because the proxy could not tell the host of anything else."
		return nil, &refused
	}
	name, hello, err := readHello(buffered)
	switch {
	case gone(err):
		return nil, nil
	case err != nil:
		refused.Why = "The sandbox closed a tunnel to " + refused.Host + ": what was sent is not the beginning of TLS."
		return nil, &refused
	case host.IsAddr() && name == "", !host.IsAddr() && asciiLower(name) == host.String():
		return hello, nil
	case name == "":
		refused.Why = "The sandbox closed a tunnel to " + refused.Host +
			": the client did not name the host in TLS (SNI), so the proxy cannot tell whether it is allowed."
	default:
		refused.Why = "The sandbox closed a tunnel to " + refused.Host +
			": in TLS (SNI) the client named another host, " + netguard.Shown(name) + "."
	}
	return nil, &refused
}

// asciiLower returns a name with its ASCII letters in lower case. Other characters stay: some of
// them fold to ASCII letters.
func asciiLower(name string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}, name)
}

// errEnough ends the reading of a handshake: only the first message matters.
var errEnough = errors.New("the ClientHello is complete")

// readHello reads a ClientHello. It returns the host that it names, and all bytes that were read.
func readHello(from *bufio.Reader) (name string, read []byte, err error) {
	var all bytes.Buffer
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, errEnough
	}}
	err = tls.Server(reading{io.TeeReader(from, &all)}, config).Handshake()
	if !errors.Is(err, errEnough) {
		return "", nil, err
	}
	rest, err := from.Peek(from.Buffered())
	return name, append(all.Bytes(), rest...), err
}

// gone reports whether a client has left or said nothing for too long.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET)
}

// reading is a connection of which only the incoming bytes exist. Package tls limits how many it
// reads.
type reading struct{ io.Reader }

func (reading) Write(p []byte) (int, error)      { return len(p), nil }
func (reading) Close() error                     { return nil }
func (reading) LocalAddr() net.Addr              { return nil }
func (reading) RemoteAddr() net.Addr             { return nil }
func (reading) SetDeadline(time.Time) error      { return nil }
func (reading) SetReadDeadline(time.Time) error  { return nil }
func (reading) SetWriteDeadline(time.Time) error { return nil }

// pass copies the bytes of both sides until both have ended, one fails, or nothing was sent for a
// time.
func (p *Proxy) pass(client, server net.Conn, first []byte) {
	if client.SetDeadline(time.Time{}) != nil {
		return
	}
	quiet := time.AfterFunc(p.idle, func() { client.Close(); server.Close() })
	defer quiet.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.copy(client, server, quiet)
	}()
	if _, err := server.Write(first); err == nil {
		p.copy(server, client, quiet)
	} else {
		client.Close()
	}
	<-done
}

// copy copies one direction. At its end it tells the receiver; if it fails, it closes both.
func (p *Proxy) copy(to, from net.Conn, quiet *time.Timer) {
	_, err := io.CopyBuffer(writer{to, quiet, p.idle}, struct{ io.Reader }{from}, make([]byte, 16<<10))
	if err == nil {
		err = closeWrite(to)
	}
	if err != nil {
		to.Close()
		from.Close()
	}
}

// writer writes to a connection and starts the time of silence again.
type writer struct {
	net.Conn
	quiet *time.Timer
	idle  time.Duration
}

// Write writes p to the connection.
func (w writer) Write(p []byte) (int, error) {
	w.quiet.Reset(w.idle)
	return w.Conn.Write(p)
}

// closeWrite tells the other side of a connection that nothing more will be sent.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// splitHost returns the host and the port of a CONNECT.
func splitHost(target string) (name, port string) {
	name, port, err := net.SplitHostPort(target)
	if err != nil {
		return target, "443"
	}
	return name, port
}
