package agent

import (
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

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
// whole and those that it shortens.
func (s *State) splitMessages(before, limit int) (whole, short []conversation.Said) {
	return conversation.Split(s.said, s.task(), before, limit)
}

// shortenMessages shortens the messages that no later compaction will keep whole, so that the state
// stays small.
func (s *State) shortenMessages() {
	_, short := s.splitMessages(s.turnCount+1, windowOr(s.Policy.Window)*charsPerToken/4)
	s.said = conversation.Replace(s.said, short)
}
