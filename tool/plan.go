package tool

import (
	"context"

	"github.com/attractor-go/attractor/internal/texts"
)

// PlanNote is the kind of the note that holds the todo list, as the JSON of a [Plan].
const PlanNote = "plan"

// Plan holds a model's todo list. Tools for it have different parameters; all of them write this
// form.
type Plan struct {
	Explanation string     `json:"explanation,omitempty"` // what changed, and why
	Items       []PlanItem `json:"plan"`
}

// PlanItem holds one entry of a [Plan].
type PlanItem struct {
	Text   string     `json:"step"`
	Status PlanStatus `json:"status"`
}

// PlanStatus says how far a [PlanItem] is.
type PlanStatus string

// The statuses.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
)

// Keep writes the plan into the session's note, in place of the previous plan.
func (p Plan) Keep(ctx context.Context, s Session) error {
	if p.Items == nil {
		p.Items = []PlanItem{}
	}
	data, err := texts.PlainJSON(p) // a model reads it after a compaction
	if err != nil {
		return err
	}
	return s.Note(ctx, PlanNote, data, "")
}
