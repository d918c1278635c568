package tool

import (
	"bytes"
	"context"
	"encoding/json"
)

// PlanNote is the kind of note that holds the todo list, as the JSON of a [Plan].
const PlanNote = "plan"

// Plan is a todo list that a model keeps. The tools by which models do so have different parameters; all of them write this form.
type Plan struct {
	Explanation string     `json:"explanation,omitempty"` // what changed, and why
	Items       []PlanItem `json:"plan"`
}

// PlanItem is one entry of a [Plan].
type PlanItem struct {
	Text     string     `json:"step"`
	Status   PlanStatus `json:"status"`
	Active   string     `json:"active_form,omitempty"` // the text while it is being done, such as "Running the tests"
	Priority string     `json:"priority,omitempty"`    // high, medium or low
}

// PlanStatus is how far a [PlanItem] is.
type PlanStatus string

// The statuses.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
	PlanCancelled  PlanStatus = "cancelled"
)

// Keep writes the plan into a session's note, in the place of the one before it.
func (p Plan) Keep(ctx context.Context, s Session) error {
	if p.Items == nil {
		p.Items = []PlanItem{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // after a compaction it is read by a model
	if err := enc.Encode(p); err != nil {
		return err
	}
	return s.Note(ctx, PlanNote, bytes.TrimSpace(b.Bytes()), "")
}
