package natsfleet

import (
	"io"
	"net"
	"sync"
)

// wire connects to a server in this process, over connections that a test spoils.
type wire struct {
	server interface{ InProcessConn() (net.Conn, error) }
	mu     sync.Mutex
	conns  []*spoiltConn
	deaf   bool // what the server says is lost
	holds  bool // what the client says is held back
}

// InProcessConn implements [nats.InProcessConnProvider].
func (w *wire) InProcessConn() (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf || w.holds {
		return nil, io.ErrClosedPipe // the machine cannot reconnect either
	}
	c, err := w.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	s := &spoiltConn{Conn: c, wire: w}
	w.conns = append(w.conns, s)
	return s, nil
}

// lose makes the client deaf.
func (w *wire) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
}

// hold keeps what the client says back.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds = true
}

// release lets what was held back through.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds = false
	for _, c := range w.conns {
		if held := c.held; len(held) > 0 {
			c.held = nil
			if _, err := c.Conn.Write(held); err != nil {
				return err
			}
		}
	}
	return nil
}

// mend ends the connections, so that the client reconnects.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Conn.Close() // the server has an own view of it
	}
	w.conns, w.deaf, w.holds = nil, false, false
}

// spoiltConn is one connection of a wire.
type spoiltConn struct {
	net.Conn
	wire *wire
	held []byte
}

func (c *spoiltConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.wire.mu.Lock()
		deaf := c.wire.deaf
		c.wire.mu.Unlock()
		if err != nil || !deaf {
			return n, err
		}
	}
}

func (c *spoiltConn) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	if c.wire.holds {
		c.held = append(c.held, p...)
		c.wire.mu.Unlock()
		return len(p), nil
	}
	c.wire.mu.Unlock()
	return c.Conn.Write(p)
}
