package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

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
		return nil, errors.New("agent: the text is empty")
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
	case ended == nil, open != nil && open.Key == key: // a message without an input of its own belongs to the current one
		return nil
	case last.Key != key || open != nil:
		return ended
	case !last.Reason.isDone() && s.state.awaiting() == nil, s.state.Queued(LaneFollowUps) != nil:
		return nil
	}
	return ended
}
