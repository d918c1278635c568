package web

import (
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// columns holds the steps, and the number of marks when each began.
type columns struct {
	Steps
	marks []int
}

func (c *columns) count() int { return len(c.Row) }

// from returns the columns from a step on, counted from 1.
func (c *columns) from(step int) Steps {
	at := min(step-1, c.count())
	s := &c.Steps
	return Steps{First: at + 1, Row: columnFrom(s.Row, at), Time: columnFrom(s.Time, at),
		Model: columnFrom(s.Model, at), Tools: columnFrom(s.Tools, at), Waiting: columnFrom(s.Waiting, at),
		Input: columnFrom(s.Input, at), Cached: columnFrom(s.Cached, at), Written: columnFrom(s.Written, at),
		Output: columnFrom(s.Output, at), Cost: columnFrom(s.Cost, at),
		Context: columnFrom(s.Context, at), Attempts: columnFrom(s.Attempts, at)}
}

// columnFrom returns a copy of a column from a place on. It is never nil, which would be null for
// the page.
func columnFrom[T any](column []T, at int) []T { return append([]T{}, column[at:]...) }

// marksBefore returns how many marks there were before a step, or all for a step that has not
// begun.
func (c *columns) marksBefore(step, all int) int {
	switch {
	case step <= 1:
		return 0
	case step > c.count():
		return all
	}
	return c.marks[step-1]
}

// begin appends a step.
func (c *columns) begin(row int, e *agent.StepEnd, state *agent.State, k *clock, marks int) {
	c.Row = append(c.Row, row)
	c.Time = append(c.Time, k.call.began)
	c.Model = append(c.Model, k.call.model)
	c.Tools = append(c.Tools, 0)
	c.Waiting = append(c.Waiting, 0)
	c.Input = append(c.Input, e.Usage.Input)
	c.Cached = append(c.Cached, e.Usage.CacheRead)
	c.Written = append(c.Written, e.Usage.CacheWrite)
	c.Output = append(c.Output, e.Usage.Output)
	c.Cost = append(c.Cost, e.CostUSD)
	c.Context = append(c.Context, state.Context.Tokens())
	c.Attempts = append(c.Attempts, e.Attempts)
	c.marks = append(c.marks, marks)
}

// update sets the times of the newest step.
func (c *columns) update(k *clock) {
	if n := c.count(); n > 0 {
		c.Tools[n-1], c.Waiting[n-1] = k.step.tools, k.step.waiting
	}
}

// add counts the rows and events of a record.
func (s *sums) add(f *folder, r *record, k *clock) {
	first := f.count - len(r.rows)
	for _, ev := range r.events {
		switch e := ev.(type) {
		case *agent.SessionStart:
			s.closed = false
		case *agent.SessionEnd:
			s.closed = true
		case *agent.StepEnd:
			if e.FinishReason != llm.FinishError {
				s.counts.Steps++
				s.steps.begin(first, e, f.projection.State(), k, len(s.marks))
				k.call = modelCall{}
			}
		case *agent.PlanUpdated:
			s.plan = planOf(e)
		}
	}
	s.steps.update(k)
	for i, m := range r.rows {
		s.row(m.row, first+i, m.events)
		if end, ok := m.events[len(m.events)-1].(*agent.ToolCallEnd); ok && len(end.Changes) > 0 {
			dir := f.dir()
			for _, c := range end.Changes {
				s.change(c, relative(c.Path, dir), relative(c.From, dir), first+i)
			}
		}
	}
}

// row counts a row.
func (s *sums) row(r Row, number int, events []agent.Event) {
	mark := Mark{Kind: r.Kind, Row: number, Step: max(r.Step, s.steps.count()), Time: r.Time, Failed: r.Failed}
	switch r.Kind {
	case RowInput:
		if s.counts.Inputs++; s.counts.Inputs == 1 {
			s.task = cut(events[0].(*agent.UserInput).Text, maxText)
		}
	case RowRetry:
		s.counts.Retries++
	case RowCompaction:
		s.counts.Compactions++
	case RowCall:
		s.call(r, number, events[len(events)-1].(*agent.ToolCallEnd))
		if mark.Changed = len(r.Paths) > 0; !mark.Failed && !mark.Changed {
			return
		}
	case RowModel, RowError, RowLimit:
	default:
		return
	}
	s.marks = append(s.marks, mark)
}

// call counts a tool call and the files that it has changed.
func (s *sums) call(r Row, number int, e *agent.ToolCallEnd) {
	if s.tools == nil {
		s.tools, s.byPath = map[string]*ToolSum{}, map[string]int{}
	}
	t := s.tools[r.Name]
	if t == nil {
		t = &ToolSum{Name: r.Name}
		s.tools[r.Name] = t
	}
	t.Calls++
	t.MS += r.MS
	t.Bytes += r.Bytes
	s.counts.Calls++
	if r.Failed {
		t.Failed++
		s.counts.Failed++
	}
	if len(e.Changes) > 0 {
		s.counts.Changes++
	}
}

// change counts a change of a file.
func (s *sums) change(c tool.Change, path, from string, number int) {
	at, known := s.byPath[path]
	if c.Kind == tool.Moved {
		if before, ok := s.byPath[from]; ok && !known {
			at, known = before, true
			delete(s.byPath, from)
		}
	}
	if !known {
		at = len(s.files)
		s.files = append(s.files, FileSum{})
	}
	s.byPath[path] = at
	f := &s.files[at]
	added, removed := texts.ChangedLines(c.Diff)
	f.Path, f.Change, f.Added, f.Removed = path, string(c.Kind), f.Added+added, f.Removed+removed
	if len(f.Rows) == 0 || f.Rows[len(f.Rows)-1] != number {
		f.Rows = append(f.Rows, number)
	}
}

// planOf returns the todo list of an event.
func planOf(e *agent.PlanUpdated) []PlanItem {
	var plan []PlanItem
	for _, item := range e.Items {
		plan = append(plan, PlanItem{Text: cut(item.Text, maxText), Status: string(item.Status)})
	}
	return plan
}
