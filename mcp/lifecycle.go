package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/attractor-go/attractor/tool"
)

// steadyTime is how long a server has to work until it may be started as often again.
const steadyTime = 5 * time.Minute

// maxRestarts limits how often a server that died is started again. Each start needs a call.
const maxRestarts = 3

// errEnded means that a server died and the next call starts it again.
var errEnded = errors.New("it has ended")

// server runs one server of a host. Its goroutine run connects, lists tools and closes; calls ask
// it for a connection.
type server struct {
	Server
	owner *Servers
	safe  string // its name in the names of its tools

	first chan struct{} // closed when the first start is over, however it went
	wake  chan struct{} // has an element if a call needs a connection

	mu      sync.Mutex
	conn    *conn
	err     error // why there is no connection
	lost    bool  // err is final
	step    chan struct{}
	offered []offered
	// resourceful says that the server has resources.
	resourceful bool
	took        time.Duration
	restarts    int
	calls       []*running // in the order in which they began
	tokens      int        // that calls have had
	second      int64      // in which the server has logged last
	logs        int        // messages in that
	listed      bool       // the tools were listed at least once
	recalled    bool       // offered has the tools of an earlier start
	// hashes of the tools, by their names on the server, that describe themselves otherwise than
	// before
	changed  map[string]string
	closeErr error // for Close, when run is over

	// For run alone: how often the list has changed, when it was last read because it was said to
	// have changed, and the warnings about lists.
	changes int
	read    time.Time
	told    map[string]bool

	pinning sync.Mutex // held while what is remembered of the server changes
}

func newServer(owner *Servers, s Server, safe string) *server {
	s.StartTimeout = cmp.Or(s.StartTimeout, DefaultStartTimeout)
	s.CallTimeout = cmp.Or(s.CallTimeout, DefaultCallTimeout)
	return &server{Server: s, owner: owner, safe: safe, first: make(chan struct{}), wake: make(chan struct{}, 1),
		step: make(chan struct{}), told: map[string]bool{}}
}

// run starts the server, keeps it running and closes it. The end of starting ends only the first
// start.
func (s *server) run(starting context.Context) {
	ctx, stop := context.WithCancelCause(s.owner.life)
	defer context.AfterFunc(starting, func() { stop(context.Cause(starting)) })()
	token := s.token()
	c := s.start(ctx)
	close(s.first)
	stop(nil)
	s.owner.toolsChanged()
	if c == nil {
		c = s.startAfterLogin(token)
	}
	for c != nil {
		select {
		case <-s.owner.life.Done():
			s.closeErr = errors.Join(s.closeErr, c.close())
			s.set(nil, errClosed, true)
			return
		case <-c.changed:
			s.refresh(c)
		case <-c.ended:
			c = s.again(c)
		}
	}
}

// start connects and lists the tools. If that fails, the host is told.
func (s *server) start(ctx context.Context) *conn {
	began := time.Now()
	c, err := s.open(ctx)
	s.mu.Lock()
	s.took = time.Since(began)
	s.mu.Unlock()
	if err != nil {
		s.forget()
	}
	s.set(c, err, err != nil)
	if err != nil && s.owner.life.Err() == nil {
		s.owner.warn(s.Name, fmt.Errorf("the MCP server %s could not be started, so its tools are missing: %w", s.Name,
			err))
	}
	return c
}

// loginEvery is the time between two looks for a login.
const loginEvery = 2 * time.Second

// startAfterLogin starts a server that wants a login when its user has logged in, which another
// process does. Token is the one that was not enough. It returns nil if the server fails for
// another reason or everything ends.
func (s *server) startAfterLogin(token string) *conn {
	tick := time.NewTicker(loginEvery)
	defer tick.Stop()
	for {
		if _, wants := errors.AsType[*LoginError](s.problem()); !wants || s.owner.o.Tokens == nil {
			return nil
		}
		select {
		case <-s.owner.life.Done():
			return nil
		case <-tick.C:
		}
		now := s.token()
		if now == "" || now == token {
			continue
		}
		token = now
		if c := s.start(s.owner.life); c != nil {
			s.owner.toolsChanged()
			return c
		}
	}
}

// token returns the access token of the user's login at the server, or "" if there is none that can
// be read.
func (s *server) token() string {
	if s.URL == "" || s.owner.o.Tokens == nil {
		return ""
	}
	l, err := s.owner.o.Tokens.Login(s.owner.life, s.URL)
	if err != nil || l == nil {
		return ""
	}
	return l.AccessToken
}

// open returns a connection whose tools are listed. It starts the server a second time, with the
// same time limit and without the probe for new versions of the protocol, in three cases: an old
// process has ended at the probe; a new process was slow, so that it got the handshakes of new and
// old versions together and refused the second; or a remote server has not answered the probe. In
// the last case the SDK cancels the probe, which an old server refuses, and that ends the
// connection.
func (s *server) open(ctx context.Context) (*conn, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c, err := s.openOnce(ctx, "")
	if errors.Is(err, errProbe) {
		c, err = s.openOnce(ctx, statefulVersion)
	}
	return c, err
}

func (s *server) openOnce(ctx context.Context, version string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.StartTimeout)
	defer cancel()
	c, err := s.connect(ctx, version)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, c.cut)()
	if err := s.listTools(ctx, c); err != nil {
		return nil, errors.Join(s.explain(ctx, c, err), c.close())
	}
	return c, nil
}

// again waits for a call that needs the server that died, and starts it. It returns nil if that
// failed too often or everything ends.
func (s *server) again(c *conn) *conn {
	err := s.explain(context.Background(), c, errEnded)
	s.closeErr = errors.Join(s.closeErr, c.close())
	if s.owner.life.Err() != nil {
		s.set(nil, errClosed, true)
		return nil
	}
	if time.Since(c.began) > steadyTime {
		s.restarts = 0
	}
	s.set(nil, err, false)
	if c.forgotten {
		if next, failed := s.reopen(); failed == nil {
			return next
		}
	}
	for s.restarts < maxRestarts {
		s.owner.warn(s.Name, fmt.Errorf(
			"the MCP server %s has ended: %w; the next call of one of its tools starts it again", s.Name, err))
		select {
		case <-s.owner.life.Done():
			s.set(nil, errClosed, true)
			return nil
		case <-s.wake:
		}
		if s.URL == "" { // else the network may come back at any time
			s.restarts++
		}
		var next *conn
		if next, err = s.reopen(); err == nil {
			return next
		}
		if s.restarts < maxRestarts {
			s.set(nil, err, false)
		}
	}
	err = fmt.Errorf("%w; it was started %d times and is not started again", err, s.restarts+1)
	s.set(nil, err, true)
	s.owner.warn(s.Name, fmt.Errorf("the MCP server %s has ended: %w", s.Name, err))
	return nil
}

// reopen starts a server that has ended.
func (s *server) reopen() (*conn, error) {
	c, err := s.open(s.owner.life)
	if err == nil {
		s.set(c, nil, false)
		s.owner.toolsChanged()
	}
	return c, err
}

// set publishes a change of the server's state. Calls that have waited for it need no start of
// their own.
func (s *server) set(c *conn, err error, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.err, s.lost = c, err, lost
	select {
	case <-s.wake:
	default:
	}
	s.stepped()
}

// stepped wakes those who wait for a change of the server's state. s.mu is held.
func (s *server) stepped() {
	close(s.step)
	s.step = make(chan struct{})
}

// connected returns the connection, and starts a server that died.
func (s *server) connected(ctx context.Context) (*conn, error) {
	for woken := false; ; {
		s.mu.Lock()
		c, err, step := s.conn, s.err, s.step
		ended := c == nil && err != nil
		final := ended && (s.lost || woken)
		if ended && !final {
			woken = true
			signal(s.wake) // with the lock, so that set can take it back
		}
		s.mu.Unlock()
		switch {
		case final:
			return nil, err
		case c != nil && c.alive():
			return c, nil
		}
		select {
		case <-step:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// known reports whether the server's first start is over or its tools are known from an earlier
// one.
func (s *server) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recalled || isClosed(s.first)
}

// problem returns why the server is not connected, or nil if it is.
func (s *server) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// current returns the server's tools.
func (s *server) current() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools := make([]tool.Tool, len(s.offered))
	for i := range s.offered {
		tools[i] = s.offered[i].tool
	}
	return tools
}

// status describes the server.
func (s *server) status() Status {
	tools := s.current()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Server: s.Server, State: Starting, Err: s.err, Tools: tools, Took: s.took}
	switch {
	case s.conn != nil && s.conn.alive():
		st.State = Connected
		if r := s.conn.session.InitializeResult(); r != nil {
			st.Protocol, st.Instructions = clean(r.ProtocolVersion, 40),
				s.owner.masked(clean(r.Instructions, maxInstructions))
			if r.ServerInfo != nil {
				st.Program = clean(r.ServerInfo.Name+" "+r.ServerInfo.Version, 200)
			}
		}
	case s.lost:
		st.State = Failed
	case s.err != nil || s.conn != nil:
		st.State = Ended
	}
	return st
}
