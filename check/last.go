package check

import (
	"encoding/json"

	"github.com/attractor-go/attractor/agent"
)

// Last returns the newest report of a session's checks, or nil. The session is nil if it is new.
func Last(session *agent.State) *Report {
	if session == nil {
		return nil
	}
	report := new(Report)
	if note, ok := session.Notes[NoteKind]; !ok || json.Unmarshal(note.Data, report) != nil {
		return nil
	}
	return report
}
