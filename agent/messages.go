package agent

import (
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// mostShort limits the shortened messages in the state. Older ones are in the journal, where
// read_output finds them.
const mostShort = 1_000

// addMessage adds a message of the turn that is added next.
func (s *State) addMessage(kind, asked string, parts llm.Parts) {
	s.said = append(s.said, conversation.Said{Turn: s.turnCount + 1, Kind: kind, Asked: asked, Parts: parts})
}

// task returns the number of the running task's turn, or of the task that Continue would go on
// with. It returns 0 if there is none.
func (s *State) task() int {
	if s.Input == nil && (s.Last == nil || s.Last.Reason.isDone()) {
		return 0
	}
	for _, m := range slices.Backward(s.said) {
		if m.Kind == conversation.Task {
			return m.Turn
		}
	}
	return 0
}

// splitMessages divides the messages of the turns before a turn into those that a compaction keeps
// whole and those that it shortens. Whole are the task and the newest others that fit into limit
// characters. Both lists keep the order of the messages.
func (s *State) splitMessages(before, limit int) (whole, short []conversation.Said) {
	task := s.task()
	for _, m := range slices.Backward(s.said) {
		switch size := m.Size(); {
		case m.Turn >= before:
		case m.Short:
			short = append(short, m)
		case m.Turn == task && m.Kind == conversation.Task:
			whole = append(whole, m)
		case size <= limit:
			limit -= size
			whole = append(whole, m)
		default:
			short = append(short, m.Shortened())
		}
	}
	slices.Reverse(whole)
	slices.Reverse(short)
	return whole, short
}

// shortenMessages shortens the messages that no later compaction will keep whole, so that the state
// stays small.
func (s *State) shortenMessages() {
	_, short := s.splitMessages(s.turnCount+1, windowOr(s.Policy.Window)*charsPerToken/4)
	left := make([]conversation.Said, 0, len(s.said))
	for _, m := range s.said {
		at := slices.IndexFunc(short, func(o conversation.Said) bool {
			return o.Turn == m.Turn && o.Kind == m.Kind && o.Asked == m.Asked
		})
		switch {
		case at < 0:
			left = append(left, m)
		case len(short)-at <= mostShort:
			left = append(left, short[at])
		}
	}
	s.said = left
}
