package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// SendOption says more about a text that a host sends to the agent: [Key] and [Attach] return one.
type SendOption func(*sending)

// sending is a text of a host's on its way into a session.
type sending struct {
	text  string
	parts llm.Parts
	key   string

	context string // that BeforeInput has added
}

// blank reports whether nothing is said.
func (m *sending) blank() bool { return strings.TrimSpace(m.text) == "" && len(m.parts) == 0 }

// Key names what is sent, so that a host that does not know whether it has arrived can send it again, also from another process: what
// has a key that the session has had is not taken a second time, and that is no error.
func Key(key string) SendOption { return func(m *sending) { m.key = validText(key) } }

// Attach sends parts after the text: llm.Media, or further llm.Text.
func Attach(parts ...llm.Part) SendOption {
	return func(m *sending) { m.parts = append(m.parts, parts...) }
}

// send returns what a host sends, or what is wrong with it.
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

// check makes all text valid UTF-8 and reports parts that cannot be sent.
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

// knows reports whether the session has had what a record is of, by its key.
func (s *State) knows(rec record) bool {
	switch r := rec.(type) {
	case queuedRecord:
		return s.keys[r.Key]
	case inputRecord:
		return s.keys[r.Key]
	}
	return false
}

// key remembers the key of what a host has sent; an empty one is none.
func (s *State) key(key string) {
	if key == "" {
		return
	}
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
}
