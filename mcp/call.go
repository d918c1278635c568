package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

const (
	progressEvery  = 200 * time.Millisecond // lines of progress that come faster are left out
	applyTime      = 5 * time.Second        // that a result waits for changed tools
	maxError       = 4 << 10                // bytes of a server's error
	maxProgressMsg = 300
)

// calls holds the calls that run at a server, by the token of their progress.
type calls struct {
	last int
	open map[string]*running
}

// running is a call at a server.
type running struct {
	*tool.Call
	name  string // of the tool on the server
	token string

	cancel context.CancelCauseFunc
	quiet  time.Duration // how long it may be without progress

	mu     sync.Mutex
	timer  *time.Timer
	latest time.Time // when it is over, whatever progress it reports
	people int       // questions that are open
	shown  time.Time // when progress was last shown
}

// errNoAnswer is the cause with which a call ends that took too long.
var errNoAnswer = errors.New("no answer in time")

// runningKey is the key of the running call in a context.
type runningKey struct{}

// begin registers a call and starts its clock.
func (s *server) begin(ctx context.Context, name string, call *tool.Call) (context.Context, *running) {
	r := &running{Call: call, name: name, quiet: s.callTimeout(), latest: time.Now().Add(max(maxCall, s.callTimeout()))}
	ctx, r.cancel = context.WithCancelCause(context.WithValue(ctx, runningKey{}, r))
	r.timer = time.AfterFunc(r.quiet, func() { r.cancel(errNoAnswer) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.last++
	r.token = "call-" + strconv.Itoa(s.calls.last)
	if s.calls.open == nil {
		s.calls.open = map[string]*running{}
	}
	s.calls.open[r.token] = r
	return ctx, r
}

// over forgets a call.
func (s *server) over(r *running) {
	s.mu.Lock()
	delete(s.calls.open, r.token)
	s.mu.Unlock()
	r.mu.Lock()
	r.timer.Stop()
	r.mu.Unlock()
	r.cancel(nil)
}

// wait adds to the number of open questions. While there are any, the clock stands still.
func (r *running) wait(by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.people += by
	r.timer.Stop()
	if r.people == 0 {
		r.timer.Reset(r.quiet)
	}
}

// progress begins the time without progress again, and reports whether the progress is to be shown.
func (r *running) progress() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.people == 0 && r.timer.Stop() {
		r.timer.Reset(max(0, min(r.quiet, r.latest.Sub(now))))
	}
	if now.Sub(r.shown) < progressEvery {
		return false
	}
	r.shown = now
	return true
}

// call runs a tool of the server.
func (s *server) call(ctx context.Context, name string, call *tool.Call) (tool.Result, error) {
	c, err := s.connected(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, err
		}
		return tool.Errorf("The MCP server %s is not running: %v. Go on without it, or tell the user.", s.Name, err), nil
	}
	inner, r := s.begin(ctx, name, call)
	defer s.over(r)
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(`{}`)}
	if call.Args != "" {
		params.Arguments = json.RawMessage(call.Args)
	}
	params.SetProgressToken(r.token)
	got, err := c.session.CallTool(inner, params)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has forgotten the session, so it did not begin the call
		if next := s.renewed(inner, c); next != nil {
			c = next
			got, err = c.session.CallTool(inner, params)
		}
	}
	if err != nil {
		return s.failed(ctx, inner, c, r, err)
	}
	s.settle(ctx, c)
	return resultOf(got), nil
}

// renewed returns the connection that follows one whose session a remote server has forgotten, or nil.
func (s *server) renewed(ctx context.Context, old *conn) *conn {
	select {
	case <-old.ended:
	case <-ctx.Done():
		return nil
	}
	c, err := s.connected(ctx)
	if err != nil {
		return nil
	}
	return c
}

// failed returns the result of a call that got none.
func (s *server) failed(ctx, inner context.Context, c *conn, r *running, err error) (tool.Result, error) {
	var refused *jsonrpc.Error
	var login *LoginError
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case context.Cause(inner) == errNoAnswer:
		return tool.Errorf("The MCP server %s did not answer within %s. The call was cancelled, but it may have had effects: look before you call it again.",
			s.Name, r.quiet), nil
	case s.owner.life.Err() != nil:
		return tool.Errorf("The MCP server %s was closed during the call, which may have had effects.", s.Name), nil
	case c.stdio != nil && c.stdio.reason() != nil, errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, sdk.ErrSessionMissing):
		return tool.Errorf("The MCP server %s ended during the call, which may have had effects: %v. The next call starts it again.",
			s.Name, s.explain(context.Background(), c, err)), nil
	case errors.As(err, &login):
		return tool.Errorf("The call was refused, because %v. Tell the user, or go on without it.", login), nil
	case errors.As(err, &refused):
		text := clean(refused.Message, maxError)
		if refused.Code == jsonrpc.CodeInvalidParams {
			return tool.Errorf("The MCP server %s refused the arguments of %s: %s", s.Name, r.Name, text), nil
		}
		return tool.Errorf("The MCP server %s failed with error %d: %s", s.Name, refused.Code, text), nil
	}
	return tool.Errorf("The call of the MCP server %s failed: %s", s.Name, clean(err.Error(), maxError)), nil
}

// settle waits until tools that changed during a call are offered, so that the model's next answer can use them.
func (s *server) settle(ctx context.Context, c *conn) {
	announced := c.announced.Load()
	if announced <= c.refreshed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, applyTime)
	defer cancel()
	for c.refreshed.Load() < announced {
		s.mu.Lock()
		step := s.step
		s.mu.Unlock()
		if c.refreshed.Load() >= announced {
			break
		}
		select {
		case <-step:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
	}
	s.owner.applyNow(ctx)
}

// notified handles a notification of a process where it is read. The SDK only needs to know that lists have changed, once.
func (s *server) notified(c *conn, method string, params json.RawMessage) (pass bool) {
	switch method {
	case "notifications/progress":
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(params, &p) == nil {
			s.progressed(&p)
		}
	case "notifications/tools/list_changed":
		if c.announced.Load() == c.handled.Load() {
			c.announced.Add(1)
			return true
		}
	}
	return false
}

// progressed shows the progress of a call.
func (s *server) progressed(p *sdk.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	s.mu.Lock()
	r := s.calls.open[token]
	s.mu.Unlock()
	if r == nil || !r.progress() || r.Live == nil {
		return
	}
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if text := clean(p.Message, maxProgressMsg); text != "" {
		line += " " + text
	}
	r.Live(env.Stdout, []byte(fmt.Sprintf("%s\n", line)))
}
