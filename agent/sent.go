package agent

import (
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// sent returns a turn's message as requests to the current model have it.
func (s *State) sent(turn int) llm.Message {
	t := &s.Turns[turn]
	m := s.mended[s.askedModel()]
	switch whole := m.Places[mendedPlace{t.Number, wholeTurn}]; {
	case len(m.Places) == 0:
		return t.Message
	case whole && t.Kind == TurnToolResults && turn > 0:
		return conversation.ToldCalls(s.Turns[turn-1].Message, t.Message)
	case whole:
		return conversation.ToldAnswer(t.Message)
	}
	message, changed := t.Message, false
	for i, part := range t.Message.Parts {
		if !m.Places[mendedPlace{t.Number, i}] {
			continue
		}
		if !changed {
			message.Parts, changed = slices.Clone(message.Parts), true
		}
		message.Parts[i] = conversation.Placeholder(part)
	}
	return message
}
