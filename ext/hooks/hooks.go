package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// Options hold what hooks need of their host. Hooks and Env are required.
type Options struct {
	// Hooks of one event run side by side. The strictest decision counts, and of several changes of
	// the arguments the first in this order.
	Hooks []Hook
	// Env returns the environment in which hooks of an origin run.
	Env func(ext.Origin) (env.Environment, error)
	// Project is the root of the project, in which its hooks run. All others run in Dir, the
	// session's directory.
	Project, Dir string
	// Mode returns the permission mode in Claude Code's words, such as default or
	// bypassPermissions. Nil means default.
	Mode func() string
	// Transcript returns where a session is kept, or "".
	Transcript func(session string) string
	// Strict makes every guard block that fails.
	Strict bool
	// Check is asked right before a hook runs. An error keeps it from running.
	Check func(*Hook) error
	// Applies reports whether a permission rule is about a call. Nil means that every rule is.
	Applies func(ctx context.Context, rule string, req tool.Request) bool
	// Mask masks secrets. Nil masks none.
	Mask Masker
	// Warn tells a person about a problem. Ran reports each run. Both are called by several
	// goroutines, and may be nil.
	Warn func(code, text string)
	Ran  func(Run)
}

// Masker masks secrets; see secret.Masker.
type Masker interface {
	String(text string) string
	JSON(data json.RawMessage) json.RawMessage
}

// Session is the part of a session that hooks use.
type Session interface {
	ID() string
	Note(ctx context.Context, kind string, data json.RawMessage, text string) error
	Interrupt()
}

// The limits.
const (
	mostAtOnce   = 8  // hooks of one event
	mostBeside   = 16 // hooks that run while the session goes on
	mostWarnings = 5  // of one hook
	mostPending  = 4096
)

// Hooks runs the hooks of a session. It is safe for concurrent use.
type Hooks struct {
	o      Options
	events map[Event]bool

	life   context.Context // of what runs beside the session
	end    context.CancelCauseFunc
	beside sync.WaitGroup

	mu       sync.Mutex // is never held while the host is called
	running  int        // beside the session
	busyTold bool       // the host knows that too many run
	closed   bool
	session  Session
	told     map[*Hook][]string // warnings
	pending  map[callKey]string // what hooks have said before a call, for its result
	agents   map[string]agentInfo
}

type callKey struct{ session, call string }

// New returns the hooks of a session. The caller must call End, unless the session to which they
// are attached does.
func New(o Options) *Hooks {
	h := &Hooks{o: o, events: map[Event]bool{}, told: map[*Hook][]string{}, pending: map[callKey]string{},
		agents: map[string]agentInfo{}}
	for i := range o.Hooks {
		h.events[o.Hooks[i].Event] = true
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h
}

// Has reports whether there are hooks for one of the events.
func (h *Hooks) Has(events ...Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return h.events[e] })
}

// occasion describes what hooks are asked about.
type occasion struct {
	event Event
	// names are what matchers are compared with.
	names []string
	// session and agent say in whose session it happens.
	session string
	agent   agentInfo
	dir     string
	payload map[string]any
	call    *tool.Request // of a tool call
}

// ask runs the hooks for an occasion side by side and returns what they say together. It fails only
// if ctx ends.
func (h *Hooks) ask(ctx context.Context, o occasion) (answer, error) {
	chosen := h.choose(ctx, &o)
	if len(chosen) == 0 {
		return answer{}, nil
	}
	input, err := h.encode(h.fill(&o))
	if err != nil {
		return answer{}, err
	}
	answers := make([]answer, len(chosen))
	room := make(chan struct{}, mostAtOnce)
	var all sync.WaitGroup
	for i, hook := range chosen {
		if hook.Async && o.event != SessionEnd {
			h.Beside(func(ctx context.Context) { h.tell(hook, h.one(ctx, hook, input, &o)) })
			continue
		}
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			answers[i] = h.one(ctx, hook, input, &o)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	for i, hook := range chosen {
		h.tell(hook, answers[i])
	}
	whole := combine(answers)
	for _, what := range whole.unsupported {
		h.warn(chosen[0], "hook_unsupported", fmt.Sprintf("a hook for %s wants something that has no effect here: %s",
			o.event, what))
	}
	return whole, nil
}

// choose returns the hooks for an occasion. Of equal commands only the first is run.
func (h *Hooks) choose(ctx context.Context, o *occasion) (chosen []*Hook) {
	seen := map[string]*Hook{}
	for i := range h.o.Hooks {
		hook := &h.o.Hooks[i]
		if hook.Event != o.event || !hook.match.matches(o.names) {
			continue
		}
		if hook.If != "" && o.call != nil && h.o.Applies != nil && !h.o.Applies(ctx, hook.If, *o.call) {
			continue
		}
		key := fmt.Sprintf("%d %t %q %q", hook.Origin, hook.Args == nil, hook.Command, hook.Args)
		if first := seen[key]; first != nil && first.Async == hook.Async && (first.Block || !hook.Block) {
			continue
		}
		seen[key] = hook
		chosen = append(chosen, hook)
	}
	return chosen
}

// fill returns the payload of an occasion with the members that all events have.
func (h *Hooks) fill(o *occasion) map[string]any {
	all := map[string]any{"session_id": o.session, "transcript_path": "", "cwd": o.dir, "hook_event_name": o.event,
		"permission_mode": "default"}
	if o.dir == "" {
		all["cwd"] = h.o.Dir
	}
	if h.o.Mode != nil {
		all["permission_mode"] = h.o.Mode()
	}
	if s := h.current(); s != nil && o.agent.id != "" {
		all["session_id"] = s.ID()
	}
	if id, _ := all["session_id"].(string); h.o.Transcript != nil {
		all["transcript_path"] = h.o.Transcript(id)
	}
	if o.agent.id != "" {
		all["agent_id"], all["agent_type"] = o.agent.id, o.agent.kind
	}
	maps.Copy(all, o.payload)
	return all
}

// one runs a hook and returns what it says. If it fails, it says nothing, or it blocks if it must
// not fail.
func (h *Hooks) one(ctx context.Context, hook *Hook, input []byte, o *occasion) answer {
	r := h.execute(ctx, hook, input)
	r.About = strings.Join(o.names[:min(1, len(o.names))], "")
	a, err := h.result(&r)
	if r.Err = err; a.quiet {
		r.Stdout = ""
	}
	if h.o.Ran != nil {
		h.o.Ran(r)
	}
	if err == nil || ctx.Err() != nil {
		return a
	}
	a = answer{}
	effect, command := "It has no effect.", texts.Cut(hook.String(), 200, " [...]")
	if h.blocks(hook) && !hook.Async {
		effect = "It must not fail, so it blocks."
		a = answer{stance: Denies, reason: fmt.Sprintf("a hook for %s that must not fail has failed (%s): %v",
			hook.Event, command, err)}
	}
	h.warn(hook, "hook_failed", fmt.Sprintf("the hook for %s in %s, line %d (%s): %v. %s", hook.Event, hook.File,
		hook.Line, command, err, effect))
	return a
}

// blocks reports whether a hook must not fail.
func (h *Hooks) blocks(hook *Hook) bool { return hook.Event.guards() && (hook.Block || h.o.Strict) }

// tell passes a hook's messages for a person on to the host.
func (h *Hooks) tell(hook *Hook, a answer) {
	for _, text := range a.messages {
		h.warn(hook, "hook_message", text)
	}
}

// warn tells the host about a problem of a hook: each once, and only a few of one hook.
func (h *Hooks) warn(hook *Hook, code, text string) {
	h.mu.Lock()
	told := h.told[hook]
	again := slices.Contains(told, text) || len(told) > mostWarnings
	if !again {
		h.told[hook] = append(told, text)
	}
	h.mu.Unlock()
	switch {
	case again || h.o.Warn == nil:
	case len(told) == mostWarnings:
		h.o.Warn(code, fmt.Sprintf("the hook for %s in %s, line %d: its further warnings are not shown", hook.Event,
			hook.File, hook.Line))
	default:
		h.o.Warn(code, text)
	}
}

// Beside calls f while the session goes on. End ends the context of f and waits for it.
func (h *Hooks) Beside(f func(ctx context.Context)) {
	h.mu.Lock()
	busy := h.running == mostBeside
	warn := busy && !h.closed && !h.busyTold
	h.busyTold = h.busyTold || warn
	if busy || h.closed {
		h.mu.Unlock()
		if warn && h.o.Warn != nil {
			h.o.Warn("hook_failed", fmt.Sprintf(
				"%d hooks run beside the session, so no further ones are started until one of them has ended",
				mostBeside))
		}
		return
	}
	defer h.mu.Unlock()
	h.running++
	h.beside.Go(func() {
		defer func() {
			h.mu.Lock()
			h.running--
			h.mu.Unlock()
		}()
		f(h.life)
	})
}

// dirOf returns the directory in which a hook runs.
func (h *Hooks) dirOf(hook *Hook) string {
	if hook.Origin == ext.Project {
		return h.o.Project
	}
	return h.o.Dir
}

// current returns the session, or nil before it has begun.
func (h *Hooks) current() Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// interrupt ends the input that the session works on.
func (h *Hooks) interrupt() {
	if s := h.current(); s != nil {
		s.Interrupt()
	}
}
