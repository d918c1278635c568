package agent

import (
	"errors"
	"fmt"
	"strings"

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

// Key names a message, so that a host that does not know whether it has arrived can send it again, also from another process. A message
// whose key the session has already had is ignored without an error.
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
func (m *sending) check() error {
	m.text = validText(m.text)
	for i, part := range m.parts {
		switch p := part.(type) {
		case llm.Text:
			p.Text = validText(p.Text)
			m.parts[i] = p
		case llm.Media:
		default:
			return fmt.Errorf("agent: part %d beside the text is of type %T; llm.Text and llm.Media go with a text", i, part)
		}
	}
	return nil
}

// hasKey reports whether the session has had a message with the record's key.
func (s *State) hasKey(rec record) bool {
	switch r := rec.(type) {
	case queuedRecord:
		return s.keys[r.Key]
	case inputRecord:
		return s.keys[r.Key]
	}
	return false
}

// addKey adds the key of a message, unless it is empty.
func (s *State) addKey(key string) {
	if key == "" {
		return
	}
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
}
