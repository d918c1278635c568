package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

const (
	// probeTime limits a question that old servers do not know. Some processes ignore it. A remote
	// server answers every request, but may have to start for it.
	probeTime       = 3 * time.Second
	remoteProbeTime = 10 * time.Second

	closeTime = 5 * time.Second // for the SDK to end a connection
)

// conn holds one connection to a server.
type conn struct {
	session *sdk.ClientSession
	stdio   *stdio // nil for a remote server
	inbox   *inbox
	cut     func()        // ends the requests to a remote server
	ended   chan struct{} // closed when nothing comes any more
	changed chan struct{} // has an element if the server's list of tools has changed
	began   time.Time

	forgotten bool // the remote server knows the session no more; set when ended is closed

	// Changes of the list of tools: those that were read, those that the SDK knows of, and those
	// after which the tools were listed.
	announced, handled, refreshed atomic.Int64
}

// errProbe means that a server could not begin because it was asked for its version of the
// protocol.
var errProbe = errors.New("hindered by the probe")

// probing tells what became of the first message of new versions of the protocol, the probe, which
// an old server does not know.
type probing struct {
	last    atomic.Bool // nothing but the handshake of old versions followed it
	expired atomic.Bool // no answer came in time
}

// probeTime returns how long the probe is waited for: a part of the time to start, so that enough
// is left if no answer comes.
func (s *server) probeTime() time.Duration {
	limit := probeTime
	if s.URL != "" {
		limit = remoteProbeTime
	}
	return min(limit, s.StartTimeout/3)
}

// connect starts a server and agrees with it on a version of the protocol. A version that is given
// is not probed for. The error wraps errProbe if it may go well without the probe.
func (s *server) connect(ctx context.Context, version string) (*conn, error) {
	c := &conn{cut: func() {}, ended: make(chan struct{}), changed: make(chan struct{}, 1), began: time.Now()}
	c.inbox = &inbox{on: func(method string, params json.RawMessage) bool { return s.notified(c, method, params) }}
	transport, err := s.dial(ctx, c)
	if err != nil {
		return nil, s.explain(ctx, c, err)
	}
	var sent probing
	client := s.client(c, &sent)
	// The SDK would spend seconds on telling a silent server that the request is cancelled.
	defer context.AfterFunc(ctx, c.cut)()
	c.session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil && s.URL != "" && sent.expired.Load() {
		return nil, errors.Join(errProbe, c.close())
	}
	if err != nil {
		err = s.explain(ctx, c, err)
		died := c.stdio != nil && c.stdio.exited()
		err = errors.Join(err, c.close())
		_, login := errors.AsType[*LoginError](err)
		if (died && sent.last.Load() || sent.expired.Load() && ctx.Err() == nil) && version == "" && !login {
			err = errors.Join(errProbe, err)
		}
		return nil, err
	}
	go func() {
		c.forgotten = errors.Is(c.session.Wait(), sdk.ErrSessionMissing) // stdio.Reason says why others end
		close(c.ended)
	}()
	s.askForLogs(ctx, c)
	return c, nil
}

// dial returns the transport of a new connection.
func (s *server) dial(ctx context.Context, c *conn) (sdk.Transport, error) {
	if s.URL != "" {
		return s.remote(c)
	}
	if s.owner.o.Env == nil {
		return nil, errors.New("this program runs no servers as processes")
	}
	e, err := guard.Value("Options.Env", func() (env.Environment, error) { return s.owner.o.Env(s.Server) })
	if err == nil {
		c.stdio, err = startStdio(ctx, e, &s.Server, c.inbox)
	}
	if err != nil {
		return nil, err
	}
	return c.stdio, nil
}

// client returns the SDK's client for a connection. It notes what becomes of the probe.
func (s *server) client(c *conn, sent *probing) *sdk.Client {
	o := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.handled.Add(1)
			signal(c.changed)
		},
	}
	if s.owner.o.Answers {
		o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{},
			URL: &sdk.URLElicitationCapabilities{}}
		o.ElicitationHandler = s.asked
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "attractor", Version: "1"}, o)
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			sent.last.Store(method == "server/discover" || sent.last.Load() && method == "initialize")
			if method != "server/discover" {
				return next(ctx, method, req)
			}
			ctx, cancel := context.WithTimeout(ctx, s.probeTime())
			defer cancel()
			result, err := next(ctx, method, req)
			sent.expired.Store(err != nil && ctx.Err() != nil)
			return result, err
		}
	})
	client.AddReceivingMiddleware(refuseSampling)
	if log := s.owner.o.Log; log != nil && log.Enabled(context.Background(), slog.LevelDebug) {
		client.AddSendingMiddleware(s.logCalls)
	}
	return client
}

// explain returns the error of a connection with what is known about the server's end.
func (s *server) explain(ctx context.Context, c *conn, err error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = fmt.Errorf("it did not start within %s; give it more time, or see whether its command works",
				s.StartTimeout)
		} else {
			err = context.Cause(ctx)
		}
	}
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login
	}
	if c.stdio == nil {
		return &saidError{reachable(err)}
	}
	err = &saidError{err}
	if why := c.stdio.Reason(); why != nil {
		err = why
	}
	if last := clean(c.stdio.Said.String(), 300); last != "" {
		err = fmt.Errorf("%w; the last line that it printed: %s", err, last)
	}
	return err
}

// reachable returns the error of a request without what only says that it is one.
func reachable(err error) error {
	at, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	if _, ok := errors.AsType[*net.OpError](at.Err); ok {
		return fmt.Errorf("%s cannot be reached: %w", at.URL, at.Err)
	}
	return at.Err
}

// saidError wraps an error that may hold text of a server, which it shows cleaned.
type saidError struct{ error }

func (e *saidError) Error() string { return clean(e.error.Error(), maxError) }
func (e *saidError) Unwrap() error { return e.error }

// alive reports whether the connection can be used.
func (c *conn) alive() bool {
	return !isClosed(c.ended) && (c.stdio == nil || c.stdio.Reason() == nil) // else ended follows
}

// close ends the connection and the process.
func (c *conn) close() error {
	var process sync.WaitGroup
	var err error
	if c.stdio != nil {
		c.stdio.Process.Close() // open calls end, which the SDK waits for
		process.Go(func() { err = c.stdio.End(politeTime) })
	}
	if c.session != nil {
		closing := guard.Start("ClientSession.Close", func() (struct{}, error) { return struct{}{}, c.session.Close() })
		late := time.NewTimer(closeTime)
		defer late.Stop()
		select {
		case <-closing: // an error says only that the connection has ended already
		case <-late.C:
		}
	}
	c.cut()
	process.Wait()
	return err
}

// signal puts an element into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// remote returns the transport of a server that speaks streamable HTTP.
func (s *server) remote(c *conn) (transport sdk.Transport, err error) {
	o := s.owner.o
	var client *http.Client
	if o.HTTP != nil {
		client, err = guard.Value("Options.HTTP", func() (*http.Client, error) { return o.HTTP(s.Server) })
	}
	if err == nil {
		transport, c.cut, err = dialRemote(s.Server, client, o.Tokens, o.Secret, c.inbox)
	}
	return transport, err
}
