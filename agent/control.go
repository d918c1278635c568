package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// The causes with which the session ends the context of a running input. Any other cause comes from
// the host's context.
var (
	errInterrupt = errors.New("agent: interrupted")
	errAbort     = errors.New("agent: aborted")
)

// stopReason returns why the input has to end: a log is full, or its context has ended.
func stopReason(ctx context.Context, full bool) Reason {
	switch cause := context.Cause(ctx); {
	case full:
		return ReasonLogFull
	case errors.Is(cause, errAbort):
		return ReasonAborted
	case errors.Is(cause, errBudgetTime):
		return ReasonBudgetTime
	case isFull(cause):
		return ReasonLogFull
	}
	return ReasonInterrupted
}

// Steer adds a message before the next model call of the running input. In an idle session the
// message waits for the next Submit. When Steer returns nil, the message is in the journal. The end
// of ctx ends the wait for the journal, which may have the message all the same.
func (s *Session) Steer(ctx context.Context, text string, more ...SendOption) error {
	return s.enqueue(ctx, LaneSteering, text, more)
}

// FollowUp queues a task that runs as an input of its own when the running one has ended, by itself
// or at a limit. The end of the session drops it. When FollowUp returns nil, the task is in the
// journal. The end of ctx ends the wait for the journal, which may have the task all the same.
func (s *Session) FollowUp(ctx context.Context, text string, more ...SendOption) error {
	return s.enqueue(ctx, LaneFollowUps, text, more)
}

func (s *Session) enqueue(ctx context.Context, lane Lane, text string, more []SendOption) error {
	m, err := send(text, more)
	if err == nil {
		err = s.admit(ctx, m, Message{Kind: map[Lane]MessageKind{LaneSteering: MessageSteering,
			LaneFollowUps: MessageFollowUp}[lane]})
	}
	if err != nil {
		return err
	}
	return s.commitDurably(ctx, queuedRecord{Lane: lane, Text: m.text, More: m.parts, Context: m.context,
		Source: sourceHost, Key: m.key})
}

// Set changes settings from the next model call on. Another model gets the whole history, also a
// model of another provider, except for parts that only the old one can read. When Set returns nil,
// the settings are in the journal. The end of ctx ends the wait for the journal, which may have
// them all the same.
func (s *Session) Set(ctx context.Context, set Settings) error {
	if set.Model != nil && *set.Model == "" {
		return errors.New("agent: the model's name is empty")
	}
	if set.Provider != nil {
		if _, err := s.provider(*set.Provider); err != nil {
			return fmt.Errorf("agent: %w", err)
		}
		if set.Model == nil && *set.Provider != look(s, (*State).chosen).Provider {
			return fmt.Errorf("agent: another provider (%s) has other models: set Settings.Model with it",
				*set.Provider)
		}
	}
	return s.set(ctx, set)
}

// commitDurably commits a record that a host asks for, unless the session has had its key.
func (s *Session) commitDurably(ctx context.Context, rec record) error {
	return s.updateDurably(ctx, func() ([]record, error) {
		if s.state.hasKey(rec) {
			return nil, nil
		}
		return []record{rec}, nil
	})
}

// updateDurably commits the records that decide returns for a host, and makes them durable. It
// delivers no events, because the caller may hold a lock that its OnEvent takes.
func (s *Session) updateDurably(ctx context.Context, decide func() ([]record, error)) error {
	err := s.update(ctx, func() ([]record, error) {
		if err := s.open(); err != nil {
			return nil, err
		}
		return decide()
	})
	if err != nil {
		return err
	}
	return s.sync(ctx)
}

// Interrupt ends the open input and keeps the session: the model's stream is cut, commands are
// ended with all that they started, and open calls get error results. It returns at once; Submit
// returns when all of that is done. An input that nobody works on ends with the next steps of
// Advance. In an idle session Interrupt does nothing.
func (s *Session) Interrupt() {
	s.interrupted.Store(true)
	// without the lock: whoever holds it may be waiting for a journal that does not return
	if now := s.working.Load(); now != nil {
		now.cancel(errInterrupt)
	}
}

// Abort ends the session like Close, without waiting for it.
func (s *Session) Abort() { s.requestEnd() }

// Close ends the session: it aborts an input that runs or that Advance has left open, emits
// SESSION_END and closes the journal. It waits for all of that, and returns the failure that ended
// the session, if that was one of the journal or of the host's code. Close may be called again, but
// not from OnEvent, nor with a lock held that OnEvent takes.
//
// Close always returns. Code that does not end is left behind after Options.Grace, a journal or an
// environment after ten times that; the error is then an [ErrStuck] that names it. If OnEvent did
// not take all events in time, the error is also an [ErrUndelivered]; calling Close again waits for
// OnEvent once more.
func (s *Session) Close() error {
	s.requestEnd()
	s.closed.Wait()
	return s.closing()
}

// Status returns the session's status.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asking > 0 || s.working.Load() == nil && s.ending.reason == "" && s.state.awaiting() != nil:
		return StatusAwaiting
	case s.working.Load() != nil:
		return StatusProcessing
	case s.ending.reason != "":
		return StatusClosed
	case s.state.Input != nil:
		return StatusProcessing
	}
	return StatusIdle
}

// Events yields the events since the session was started or resumed, and goes on with new ones
// until SESSION_END or the end of ctx. Any number of cursors can run at once. A slow cursor neither
// holds up the session nor costs memory.
//
// A cursor gets all facts, in order, but joins deltas: it gets all that it has not seen of a text,
// a thought or live output in one delta, which has the number of the last piece. A text that has
// ended is thus its start, one delta and its end. Long live output is cut to its first and last 32
// KiB, around a line that says how many bytes are left out. Once a call has ended its live output
// is skipped, because TOOL_CALL_END has the output.
//
// The newest 10,000 events are kept, at most 64 MiB of them, and with a journal 64 KiB while the
// session is at rest. A cursor that has fallen behind gets a [Gap], and then the facts in it as the
// journal has them: texts in one piece, outputs as the model saw them, with OutputComplete false.
func (s *Session) Events(ctx context.Context) iter.Seq[Event] { return s.events.cursor(ctx) }

// History returns the turns so far. The session shares their parts, so they must not be changed.
func (s *Session) History() []Turn {
	return look(s, func(st *State) []Turn { return slices.Clone(st.Turns) })
}

// Usage returns the tokens that the session has used, failed attempts included.
func (s *Session) Usage() llm.Usage { return look(s, func(st *State) llm.Usage { return st.Usage }) }

// Keys returns the keys of the messages that the session has had, as [Key] names them.
func (s *Session) Keys() []string {
	return look(s, func(st *State) []string { return slices.Sorted(maps.Keys(st.keys)) })
}

// validText returns text as valid UTF-8. All text that enters a session passes it, so that journal,
// events and model have the same.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// A SendOption adds to a text that a host sends to the agent. [Key] and [Attach] return one.
type SendOption func(*sending)

// sending is a text of the host on its way into a session.
type sending struct {
	text  string
	parts llm.Parts
	key   string

	context string // added by BeforeInput
}

// blank reports whether there is neither text nor parts.
func (m *sending) blank() bool { return strings.TrimSpace(m.text) == "" && len(m.parts) == 0 }

// Key names a message, so that a host that does not know whether it has arrived can send it again,
// also from another process. A message whose key the session has already had is not added again,
// and that is no error; [Session.Submit] then goes on with its input.
func Key(key string) SendOption { return func(m *sending) { m.key = validText(key) } }

// Attach sends parts after the text: llm.Media, or further llm.Text.
func Attach(parts ...llm.Part) SendOption {
	return func(m *sending) { m.parts = append(m.parts, parts...) }
}

// send returns a message with its options, or an error if it cannot be sent.
func send(text string, more []SendOption) (*sending, error) {
	m := &sending{text: text}
	for _, option := range more {
		option(m)
	}
	if m.blank() {
		return nil, errors.New("agent: the message is empty; it needs a text, or parts by Attach")
	}
	return m, m.check()
}

// check makes all text valid UTF-8 and returns an error for parts that cannot be sent.
func (m *sending) check() (err error) {
	m.text = validText(m.text)
	if m.parts, err = conversation.BesideText(m.parts); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

// hasKey reports whether the session has had a message with the record's key.
func (s *State) hasKey(rec record) bool {
	switch r := rec.(type) {
	case queuedRecord:
		return s.hadKey(r.Key)
	case inputRecord:
		return s.hadKey(r.Key)
	}
	return false
}

// hadKey reports whether the session has had a message with a key.
func (s *State) hadKey(key string) bool {
	_, had := s.keys[key]
	return had
}

// addKey adds the key of a message, unless it is empty.
func (s *State) addKey(key string) {
	if key == "" {
		return
	}
	if s.keys == nil {
		s.keys = map[string]*Result{}
	}
	s.keys[key] = nil
}

// submitAgain is Submit of a message that the session has had.
func (s *Session) submitAgain(ctx context.Context, key string, begun func()) (*Result, error) {
	if err := s.open(); err != nil {
		return new(Result), err
	}
	if result := s.settled(key); result != nil {
		return result, nil
	}
	return s.goOn(ctx, begun)
}

// settled returns the result of the input with a key, nil if Continue would go on with that input.
func (s *Session) settled(key string) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, last, ended := s.state.Input, s.state.Last, s.state.keys[key]
	switch {
	// a message without an input of its own belongs to the current one
	case ended == nil, open != nil && open.Key == key:
		return nil
	case last.Key != key || open != nil:
		return ended
	case !last.Reason.isDone() && s.state.awaiting() == nil, s.state.Queued(LaneFollowUps) != nil:
		return nil
	}
	return ended
}
