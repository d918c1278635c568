package agent

import (
	"fmt"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// historyRecord holds the messages that a session begins with. It comes right after the header.
type historyRecord struct {
	Messages []llm.Message `json:"messages"`
}

func (historyRecord) kind() string { return "history" }

// newHistory returns the record of a host's messages as it reads after it was written, so that
// requests before and after a resume are equal.
func newHistory(messages []llm.Message) (historyRecord, error) {
	if problem := conversation.Problem(messages); problem != "" {
		return historyRecord{}, fmt.Errorf("agent: Options.%s", problem)
	}
	return written(historyRecord{conversation.WithPictures(messages)}, "Options.History")
}

// foldHistory adds a turn for each message. Messages of users count as those of people, so that a
// compaction keeps them.
func (s *State) foldHistory(r historyRecord, at time.Time) {
	for _, m := range r.Messages {
		kind := TurnUser
		switch m.Role {
		case llm.RoleAssistant:
			kind = TurnAssistant
		case llm.RoleTool:
			kind = TurnToolResults
		default:
			s.addMessage(conversation.Task, "", m.Parts)
		}
		s.addTurn(Turn{Kind: kind, Origin: OriginHistory, Time: at, Message: m})
	}
}

// projectHistory returns the event of a history, without the data of media, which [Session.History]
// has.
func projectHistory(r historyRecord) Event {
	shown := make([]llm.Message, 0, len(r.Messages))
	for _, m := range r.Messages {
		m.Parts = conversation.WithoutData(m.Parts)
		shown = append(shown, m)
	}
	return &HistoryLoaded{Messages: shown}
}
