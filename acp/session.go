package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// errCancelled is the cause that ends a prompt which the editor has cancelled.
var errCancelled = errors.New("the editor has cancelled the prompt")

// session is an open session.
type session struct {
	server  *server
	id      string
	opening Opening // what the editor wanted, without the client
	host    *Session
	shown   *view
	known   atomic.Bool // the editor knows the session, so it can be asked for files

	mu     sync.Mutex              // is never held while something is sent
	stop   context.CancelCauseFunc // of the prompt that runs
	closed bool

	telling sync.Mutex // held while the editor is told of changes
	told    told

	reloading sync.Mutex // held while the history is shown again
}

// told holds what the editor knows of a session's options and commands, as JSON.
type told struct{ mode, options, commands string }

func newSession(s *server) *session {
	open := &session{server: s}
	open.shown = newView(s.client, func(u any) { open.update(u) })
	return open
}

// update sends an update.
func (o *session) update(u any) {
	// This fails only if the connection is over, and then the session is closed.
	_ = o.server.conn.notify(methodUpdate, members{"sessionId": o.id, "update": u})
}

// begin sends what has been shown since the session was started: the editor did not know its id
// before.
func (o *session) begin() {
	if o.host.Options != nil {
		o.telling.Lock()
		o.told.mode, o.told.options = o.current()
		o.telling.Unlock()
	}
	o.shown.open()
	o.tellCommands()
}

// replay shows the history.
func (o *session) replay(ctx context.Context) error {
	o.shown.replaying(true)
	defer o.shown.replaying(false)
	return o.host.Replay(ctx, func(ev agent.Event) { o.shown.event(ev, true) })
}

// cancel ends the prompt that runs.
func (o *session) cancel() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop != nil {
		o.stop(errCancelled)
	}
}

// close ends the session.
func (o *session) close() error {
	o.mu.Lock()
	o.closed = true
	if o.stop != nil {
		o.stop(errCancelled)
	}
	o.mu.Unlock()
	var err error
	for {
		if err = o.host.Agent.Close(); !errors.Is(err, agent.ErrUndelivered) || o.server.conn.ctx.Err() != nil {
			break
		}
	}
	o.shown.close()
	if o.host.Close != nil {
		err = errors.Join(err, o.host.Close())
	}
	return err
}

// prompt returns the work of a prompt. The session is taken at once, so that a notification to
// cancel finds it.
func (s *server) prompt(params json.RawMessage) (work, error) {
	p, err := decode[promptParams](params)
	if err != nil {
		return nil, err
	}
	open, err := s.find(p.Session)
	if err != nil {
		return nil, err
	}
	text, more, err := partsOf(p.Prompt)
	if err != nil {
		return nil, err
	}
	turn, stop := context.WithCancelCause(context.WithoutCancel(s.conn.ctx))
	if err := open.take(stop); err != nil {
		stop(nil)
		return nil, err
	}
	return func(ctx context.Context) (any, func(), error) {
		defer open.free()
		defer context.AfterFunc(ctx, func() { stop(errCancelled) })()
		open.shown.open() // the editor knows the session, perhaps before begin has run
		result, err := open.submit(turn, text, more)
		reason, err := stopReason(turn, result, err)
		if err != nil {
			return nil, nil, err
		}
		return map[string]any{"stopReason": reason}, open.tellCommands, nil
	}, nil
}

// take reserves the session for a prompt.
func (o *session) take(stop context.CancelCauseFunc) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop != nil {
		return Errorf(CodeInvalidRequest,
			"the session runs a prompt already; wait for its end, or cancel it with session/cancel")
	}
	o.stop = stop
	return nil
}

// free lets the next prompt begin.
func (o *session) free() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop(nil)
	o.stop = nil
}

func (o *session) submit(ctx context.Context, text string, more []llm.Part) (*agent.Result, error) {
	if ctx.Err() != nil { // cancelled before it began
		return nil, context.Cause(ctx)
	}
	if o.host.Submit != nil {
		return o.host.Submit(ctx, text, more...)
	}
	return o.host.Agent.Submit(ctx, text, agent.Attach(more...))
}

// stopReason returns the protocol's reason for the end of a prompt.
func stopReason(ctx context.Context, result *agent.Result, err error) (string, error) {
	if context.Cause(ctx) != nil && (err == nil || errors.Is(err, errCancelled) || errors.Is(err, agent.ErrClosed) ||
		errors.Is(err, context.Canceled)) {
		return "cancelled", nil
	}
	if errors.Is(err, llm.ErrAuthentication) || errors.Is(err, llm.ErrAccessDenied) {
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Status == 0 { // no server's: it says what is missing
			return "", Errorf(CodeAuthRequired, "%w", err)
		}
		return "", Errorf(CodeAuthRequired, "%w; check the API key in the environment of the agent", err)
	}
	if err != nil {
		return "", err
	}
	switch result.Reason {
	case agent.ReasonRefused:
		return "refusal", nil
	case agent.ReasonInterrupted, agent.ReasonAborted:
		return "cancelled", nil
	case agent.ReasonIncomplete:
		if result.Finish.Reason == llm.FinishLength {
			return "max_tokens", nil
		}
	}
	if result.Reason.Limit() {
		return "max_turn_requests", nil
	}
	return "end_turn", nil
}

// setMode chooses a value of the option of the category mode.
func (s *server) setMode(ctx context.Context, p *modeParams) (any, error) {
	open, err := s.find(p.Session)
	if err != nil {
		return nil, err
	}
	var mode *Option
	if open.host.Options != nil {
		mode = modeOf(open.host.Options())
	}
	if mode == nil {
		return nil, Errorf(CodeInvalidParams, "the session has no modes")
	}
	if err := open.choose(ctx, "modeId", mode.ID, p.Mode); err != nil {
		return nil, err
	}
	return empty{}, nil
}

// setOption chooses a value of an option.
func (s *server) setOption(ctx context.Context, p *optionParams) (any, error) {
	open, err := s.find(p.Session)
	if err != nil {
		return nil, err
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, Errorf(CodeInvalidParams, "value must be a string")
	}
	if open.host.Options == nil {
		return nil, Errorf(CodeInvalidParams, "the session has no options")
	}
	if err := open.choose(ctx, "value", p.Option, value); err != nil {
		return nil, err
	}
	return map[string]any{"configOptions": sentOptions(open.host.Options())}, nil
}

// choose sets an option to one of its choices. member names the value in errors.
func (o *session) choose(ctx context.Context, member, id, value string) error {
	options := o.host.Options()
	i := slices.IndexFunc(options, func(option Option) bool { return option.ID == id })
	if i < 0 {
		return Errorf(CodeInvalidParams, "the session has no option %q", shortened(id, 100))
	}
	if !slices.ContainsFunc(options[i].Choices, func(c Choice) bool { return c.Value == value }) {
		return Errorf(CodeInvalidParams, "%s must be one of the values of the option %s, not %q", member, id,
			shortened(value, 100))
	}
	if err := o.host.Set(ctx, id, value); err != nil {
		return err
	}
	o.changed()
	return nil
}

// current returns the mode, and all options as JSON.
func (o *session) current() (mode, options string) {
	all := o.host.Options()
	if option := modeOf(all); option != nil {
		mode = option.Value
	}
	encoded, _ := json.Marshal(sentOptions(all)) // cannot fail
	return mode, string(encoded)
}

// changed tells the editor about other values of the options, if there are any.
func (o *session) changed() {
	o.telling.Lock()
	defer o.telling.Unlock()
	if o.told.options == "" { // the editor gets them with the session, or the session has none
		return
	}
	was := o.told
	o.told.mode, o.told.options = o.current()
	if o.told.mode != was.mode {
		o.update(members{"sessionUpdate": "current_mode_update", "currentModeId": o.told.mode})
	}
	if o.told.options != was.options {
		o.update(members{"sessionUpdate": "config_option_update", "configOptions": sentOptions(o.host.Options())})
	}
}

// tellCommands tells the editor what can be called by /NAME, if that has changed.
func (o *session) tellCommands() {
	if o.host.Commands == nil {
		return
	}
	commands := []members{}
	for _, c := range o.host.Commands(o.server.conn.ctx) {
		sent := members{"name": c.Name, "description": shortened(oneLine(c.Description), 500)}
		if c.Hint != "" {
			sent["input"] = members{"hint": shortened(oneLine(c.Hint), 200)}
		}
		commands = append(commands, sent)
	}
	encoded, _ := json.Marshal(commands) // cannot fail
	o.mu.Lock()
	closed := o.closed
	o.mu.Unlock()
	o.telling.Lock()
	defer o.telling.Unlock()
	if o.told.commands != string(encoded) && !closed {
		o.told.commands = string(encoded)
		o.update(members{"sessionUpdate": "available_commands_update", "availableCommands": commands})
	}
}

// modeOf returns the option of the category mode, or nil without one.
func modeOf(options []Option) *Option {
	if i := slices.IndexFunc(options, func(option Option) bool { return option.Category == "mode" }); i >= 0 {
		return &options[i]
	}
	return nil
}

func sentOptions(options []Option) []sentOption {
	sent := make([]sentOption, 0, len(options))
	for _, o := range options {
		sent = append(sent, sentOption{o, "select"})
	}
	return sent
}
