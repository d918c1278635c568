package proxy

import (
	"net"
	"sync"
	"time"
)

// limited is a listener with a limit on the connections that are open at a time.
type limited struct {
	net.Listener
	idle   time.Duration
	wait   time.Duration  // for a place
	refuse func(net.Conn) // tells a client that there is no place, and closes the connection
	places chan struct{}
	full   bool // the last client has waited in vain; only Accept uses it
	done   chan struct{}
	once   sync.Once
}

// limit returns a listener for the connections of a proxy.
func (p *Proxy) limit(l net.Listener) net.Listener {
	return &limited{Listener: l, idle: p.idle, wait: p.wait, refuse: p.tooMany, places: make(chan struct{}, p.most), done: make(chan struct{})}
}

// Accept returns the next connection for which there is a place.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.enter() {
			return &placed{Conn: c, idle: l.idle, free: sync.OnceFunc(func() { <-l.places })}, nil
		}
		l.refuse(c)
	}
}

// enter takes a place and reports whether there is one. It waits for one, but does not let many clients wait one after the other.
func (l *limited) enter() bool {
	select {
	case l.places <- struct{}{}:
		l.full = false
		return true
	default:
	}
	if l.full {
		return false
	}
	enough := time.NewTimer(l.wait)
	defer enough.Stop()
	select {
	case l.places <- struct{}{}:
		return true
	case <-l.done:
	case <-enough.C:
		l.full = true
	}
	return false
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

// Write fails if the client does not read for the time of idle. The server sets the deadlines of reads.
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

// lively is a connection to a server. It fails if neither side has sent anything for the time of idle.
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
