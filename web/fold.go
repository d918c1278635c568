package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
)

// folder converts the records of a journal into rows.
type folder struct {
	projection agent.Projection
	masker     *secret.Masker

	// began is when the last input began, in milliseconds since 1970, plus the time in which no
	// process worked on it.
	began int64
	at    int64 // the time of the record before
	// step is the model call that has begun last. Its answer may come records later, after failed
	// attempts.
	step    int
	starts  map[string]*agent.ToolCallStart // of calls that have not ended
	spawned map[string]int                  // the rows of the calls that have spawned subagents, by session
	count   int                             // of rows
}

func newFolder(m *secret.Masker) *folder {
	return &folder{masker: m, starts: map[string]*agent.ToolCallStart{}, spawned: map[string]int{}}
}

// made is a row with the events behind it.
type made struct {
	row    Row
	events []agent.Event
}

// record holds the rows and events of a record.
type record struct {
	rows   []made
	events []agent.Event // without secrets
	// open, asks and faults describe the state before the record.
	open   bool // an input was open
	asks   bool // the last input had ended with a question
	faults int  // how many attempts had failed
	// aside says that a model call ended that was no step, such as that of a compaction, or one
	// that broke off with the input.
	aside bool
}

// add folds a record.
func (f *folder) add(line journal.Record) (record, error) {
	state := f.projection.State()
	r := record{open: state.Input != nil, faults: len(state.Faults), asks: state.Input == nil && state.Last != nil &&
		state.Last.Reason == agent.ReasonAwaitingInput}
	asked, steps, spent := len(state.Calls) > 0, state.Steps, state.Usage
	events, err := f.projection.Add(line)
	if err != nil {
		return record{}, err
	}
	r.aside = len(events) > 0 && state.Usage != spent && state.Steps == steps && len(state.Faults) <= r.faults
	for _, ev := range events {
		shown := masked.Event(f.masker, ev)
		r.events = append(r.events, shown)
		switch e := shown.(type) {
		case *agent.StepStart:
			f.step = e.Step
		case *agent.ToolCallStart:
			f.starts[e.CallID] = e
		case *agent.StepEnd:
			if i := len(r.rows) - 1; i >= 0 {
				r.rows[i].events = append(r.rows[i].events, e)
			}
		default:
			f.addRow(&r, shown, line, asked)
		}
	}
	f.price(&r, state)
	f.count += len(r.rows)
	f.at = line.Time.UnixMilli()
	return r, nil
}

// addRow adds the row of an event without secrets.
func (f *folder) addRow(r *record, ev agent.Event, line journal.Record, asked bool) {
	m := made{row: rowOf(ev), events: []agent.Event{ev}}
	if m.row.Kind == "" {
		return
	}
	head := ev.Head()
	m.row.Seq, m.row.Time = head.Seq, line.Time.UnixMilli()
	state := f.projection.State()
	switch e := ev.(type) {
	case *agent.SessionStart:
		if e.Resumed && r.open {
			f.began += max(0, m.row.Time-f.at)
		}
	case *agent.UserInput:
		f.began = m.row.Time
		if n := len(state.Turns); n > 0 && state.Turns[n-1].Kind == agent.TurnUser {
			m.row.Turn = state.Turns[n-1].Number
		}
	case *agent.ProcessingEnd:
		m.row.MS = max(0, m.row.Time-f.began)
	case *agent.ThinkingDelta, *agent.AssistantTextEnd, *agent.WebSearch, *agent.LLMRetry:
		m.row.Step = f.step
	case *agent.InputRequested:
		m.row.Step = state.Steps
	case *agent.ToolCallEnd:
		f.call(&m, e, len(r.rows))
	case *agent.PlanUpdated, *agent.NoteWritten, *agent.Warning:
		if asked {
			m.row.Step = state.Steps
		}
	}
	r.rows = append(r.rows, m)
}

// call completes the row of a call. Row is its place among the rows of the record.
func (f *folder) call(m *made, e *agent.ToolCallEnd, row int) {
	state := f.projection.State()
	m.row.Step = state.Steps
	m.row.Time -= e.DurationMS
	if start := f.starts[e.CallID]; start != nil {
		m.events = []agent.Event{start, e}
		if text := callText(effective(start)); text != "" {
			m.row.Text = text
		}
	}
	if len(e.Changes) > 0 {
		changes(&m.row, e, f.dir())
	}
	if child := f.childOf(e); child != nil {
		m.row.Session = child.Session
		f.spawned[child.Session] = f.count + row
	}
	delete(f.starts, e.CallID)
}

// dir returns the directory of the session.
func (f *folder) dir() string { return f.masker.String(f.projection.State().Dir()) }

// childOf returns the subagent that a call has spawned: the one whose id is in the call's result,
// or else the first one whose task is in its arguments. It returns nil if there is none, or if its
// call is known already.
func (f *folder) childOf(end *agent.ToolCallEnd) *agent.Child {
	state := f.projection.State()
	var args []string
	if start := f.starts[end.CallID]; start != nil {
		args = slices.Collect(stringsOf(effective(start)))
	}
	var found *agent.Child
	for i := range state.Children {
		c := &state.Children[i]
		if _, known := f.spawned[c.Session]; known || c.Session == "" {
			continue
		}
		if strings.Contains(end.Output, fmt.Sprintf("%q:%q", "agent_id", c.ID)) {
			return c
		}
		task := strings.TrimSpace(f.masker.String(c.Task))
		if found == nil && slices.ContainsFunc(args, func(arg string) bool { return strings.TrimSpace(arg) == task }) {
			found = c
		}
	}
	return found
}

// price sets the cost of the session so far on the last row of a step: that of its last result, or
// of its text if it makes no calls.
func (f *folder) price(r *record, state *agent.State) {
	if len(r.rows) == 0 || len(state.Calls) > 0 {
		return
	}
	if last := &r.rows[len(r.rows)-1].row; last.Kind == RowCall || last.Kind == RowText && !last.Failed {
		last.Cost = state.Cost
	}
}

// effective returns the arguments with which a call has run.
func effective(start *agent.ToolCallStart) json.RawMessage {
	if start.Effective != nil {
		return start.Effective
	}
	return start.Arguments
}
