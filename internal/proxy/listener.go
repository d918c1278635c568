package proxy

import (
	"net"
	"sync"
	"time"
)

// limited is a listener with a limit on the connections that are open at a time. Further clients
// wait until one of them ends.
type limited struct {
	net.Listener
	idle   time.Duration
	places chan struct{}
	done   chan struct{}
	once   sync.Once
}

// limit returns a listener for the connections of a proxy.
func (p *Proxy) limit(l net.Listener) net.Listener {
	return &limited{Listener: l, idle: p.idle, places: make(chan struct{}, p.most), done: make(chan struct{})}
}

// Accept returns the next connection when there is a place for it.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	free := sync.OnceFunc(func() { <-l.places })
	c, err := l.Listener.Accept()
	if err != nil {
		free()
		return nil, err
	}
	return &placed{Conn: c, idle: l.idle, free: free}, nil
}

// Close stops listening. It also ends an Accept that waits for a place.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// placed is a connection that frees its place when it is closed.
type placed struct {
	net.Conn
	idle time.Duration
	free func()
}

// Write fails if the client does not read for the time of idle. The server sets the deadlines of
// reads.
func (c *placed) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close closes the connection and frees its place.
func (c *placed) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite tells the other side that nothing more will be sent.
func (c *placed) CloseWrite() error { return closeWrite(c.Conn) }

// lively is a connection to a server. It fails if neither side has sent anything for the time of
// idle.
type lively struct {
	net.Conn
	idle time.Duration
}

// Read reads from the server.
func (c *lively) Read(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// Write writes to the server.
func (c *lively) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
