package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tracecontext"
)

const (
	progressEvery  = 200 * time.Millisecond // lines of progress that come faster are left out
	applyTime      = 5 * time.Second        // that a result waits for changed tools
	maxError       = 4 << 10                // bytes of a server's error
	maxProgressMsg = 300
)

// running holds a call at a server, with its clock.
type running struct {
	*tool.Call
	token string // of its progress

	cancel context.CancelCauseFunc
	quiet  time.Duration // how long it may be without progress

	mu     sync.Mutex
	timer  *time.Timer
	latest time.Time // when it is over, whatever progress it reports; later by the time in which people answer
	people int       // questions that are open
	asked  time.Time // since when there have been any
	shown  time.Time // when progress was last shown
}

// errNoAnswer ends a call that took too long.
var errNoAnswer = errors.New("no answer in time")

// runningKey finds the running call in a context.
type runningKey struct{}

// begin registers a call and starts its clock.
func (s *server) begin(ctx context.Context, call *tool.Call) (context.Context, *running) {
	r := &running{Call: call, quiet: s.CallTimeout, latest: time.Now().Add(max(maxCall, s.CallTimeout))}
	ctx, r.cancel = context.WithCancelCause(context.WithValue(ctx, runningKey{}, r))
	r.timer = time.AfterFunc(r.quiet, func() { r.cancel(errNoAnswer) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	r.token = "call-" + strconv.Itoa(s.tokens)
	s.calls = append(s.calls, r)
	return ctx, r
}

// over forgets a call.
func (s *server) over(r *running) {
	s.mu.Lock()
	s.calls = slices.DeleteFunc(s.calls, func(other *running) bool { return other == r })
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
	if r.people == 0 {
		r.asked = time.Now()
	}
	r.people += by
	r.timer.Stop()
	if r.people == 0 {
		r.latest = r.latest.Add(time.Since(r.asked))
		r.timer.Reset(r.quiet)
	}
}

// allowed returns the limit that the call has reached.
func (r *running) allowed() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.latest) {
		return r.quiet
	}
	return max(maxCall, r.quiet)
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

// call runs a tool of the server. If the server has first to be started, and then describes the
// tool otherwise than before, the call does not run: it was permitted for the tool as it was.
func (s *server) call(ctx context.Context, name string, call *tool.Call) (tool.Result, error) {
	permitted := s.described(name)
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(`{}`)}
	if call.Args != "" {
		params.Arguments = json.RawMessage(call.Args)
	}
	return s.do(ctx, call, func(ctx context.Context, c *conn, r *running) (tool.Result, error) {
		if s.described(name) != permitted {
			return tool.Errorf("The call did not run: the MCP server describes this tool otherwise than before. If " +
				"the call is still right, make it again."), nil
		}
		params.Meta = s.logsOf(c, traced(ctx))
		params.SetProgressToken(r.token)
		got, err := c.session.CallTool(ctx, params)
		if err != nil && s.opened(ctx, err) { // the server needs the person to have opened an address first
			got, err = c.session.CallTool(ctx, params)
		}
		if err != nil {
			return tool.Result{}, err
		}
		return resultOf(got), nil
	})
}

// described returns the hash of a tool as the server describes it now, or "" if it does not offer
// it.
func (s *server) described(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.offered {
		if one.name == name {
			return one.hash
		}
	}
	return ""
}

// traced returns the _meta of a request with the trace context, under the names of the protocol.
func traced(ctx context.Context) sdk.Meta {
	meta := sdk.Meta{}
	for name, value := range tracecontext.All(ctx) {
		meta[name] = value
	}
	return meta
}

// work asks a server for what a call wants.
type work func(context.Context, *conn, *running) (tool.Result, error)

// do runs a request to the server for a call. Errors become error results.
func (s *server) do(ctx context.Context, call *tool.Call, w work) (tool.Result, error) {
	c, err := s.connected(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, err
		}
		return tool.Errorf("The MCP server %s is not running: %v. Go on without it, or tell the user.", s.Name, err),
			nil
	}
	inner, r := s.begin(ctx, call)
	defer s.over(r)
	before := c.announced.Load()
	result, err := w(inner, c, r)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has forgotten the session, so it did not begin the call
		if next := s.renewed(inner, c); next != nil {
			c, before = next, next.announced.Load()
			result, err = w(inner, c, r)
		}
	}
	if err != nil {
		return s.failed(ctx, inner, c, r, err)
	}
	if c.announced.Load() > before {
		s.settle(ctx, c)
	}
	return result, nil
}

// renewed returns the connection that follows one whose session a remote server has forgotten, or
// nil.
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
		return tool.Errorf("The MCP server %s did not answer within %s. The call was cancelled, but it may have had "+
			"effects: look before you call it again.", s.Name, r.allowed()), nil
	case s.owner.life.Err() != nil:
		return tool.Errorf("The MCP server %s was closed during the call, which may have had effects.", s.Name), nil
	case c.stdio != nil && c.stdio.Reason() != nil, errors.Is(err, sdk.ErrConnectionClosed),
		errors.Is(err, sdk.ErrSessionMissing):
		return tool.Errorf("The MCP server %s ended during the call, which may have had effects: %v. The next call "+
			"starts it again.", s.Name, s.explain(context.Background(), c, err)), nil
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

// settle waits until tools that changed during a call are offered, so that the model's next answer
// can use them.
func (s *server) settle(ctx context.Context, c *conn) {
	announced := c.announced.Load()
	ctx, cancel := context.WithTimeout(ctx, applyTime)
	defer cancel()
	for {
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

// notified handles a server's notification where it is read. The SDK only needs to know that lists
// have changed, once.
func (s *server) notified(c *conn, method string, params json.RawMessage) (pass bool) {
	switch method {
	case "notifications/progress":
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(params, &p) == nil {
			s.progressed(&p)
		}
	case "notifications/message":
		var p struct {
			Level string
			Data  any
		}
		if s.owner.o.Log != nil && json.Unmarshal(params, &p) == nil {
			s.logged(p.Level, p.Data)
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
	at := slices.IndexFunc(s.calls, func(r *running) bool { return r.token == token })
	if at < 0 {
		s.mu.Unlock()
		return
	}
	r := s.calls[at]
	s.mu.Unlock()
	if !r.progress() || r.Live == nil {
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
