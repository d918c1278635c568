package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
)

// defaultClient returns the client of calls that name none. It uses http.DefaultTransport if a program has replaced that one, and
// otherwise a copy of it whose connections send a body without copying it.
func defaultClient() http.Client {
	if t := direct(); t.of != nil && http.DefaultTransport == http.RoundTripper(t.of) {
		return http.Client{Transport: t.own}
	}
	return http.Client{}
}

// transports holds http.DefaultTransport, if Go made it, and our copy of it.
type transports struct{ of, own *http.Transport }

// direct returns the copy of http.DefaultTransport.
var direct = sync.OnceValue(func() transports {
	of, ok := http.DefaultTransport.(*http.Transport)
	if !ok || of.DialContext == nil {
		return transports{}
	}
	own := of.Clone()
	own.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := of.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			return bodyConn{tcp}, nil
		}
		return conn, err
	}
	return transports{of, own}
})

// bodyConn is a connection that net/http hands a whole request body. A plain one would allocate a buffer of 32 KiB for each body, and
// copy the body through it.
type bodyConn struct{ *net.TCPConn }

// ReadFrom implements [io.ReaderFrom].
func (c bodyConn) ReadFrom(r io.Reader) (int64, error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	body, ok := limited.R.(*segmentReader)
	if !ok {
		return c.TCPConn.ReadFrom(r)
	}
	n, err := body.writeTo(c.TCPConn, limited.N)
	limited.N -= n
	return n, err
}
