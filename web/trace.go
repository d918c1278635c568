package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions/costs"
)

// A Trace folds the journal of a session into rows with their events and an Overview, record by
// record. It is safe for concurrent use.
type Trace struct {
	masker *secret.Masker

	mu      sync.RWMutex
	fold    *folder
	created time.Time
	rows    []Row
	events  [][]agent.Event // of each row
	sums    sums
	costs   *costs.Sum
	clock   clock
}

// NewTrace returns a trace of a session without records. Its methods return nothing with secrets
// that the masker knows; nil masks none. Facts has the prices of models, nil none.
func NewTrace(m *secret.Masker, facts llm.Lookup) *Trace {
	return &Trace{masker: m, fold: newFolder(m), costs: costs.New(facts)}
}

// Add folds the next record. It returns the numbers of the first row and of the first step that
// were added or have changed. After an error no further record can be added.
func (t *Trace) Add(line journal.Record) (row, step int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row = len(t.rows)
	r, err := t.fold.add(line)
	if err != nil {
		return row, math.MaxInt, err
	}
	if line.N == 1 {
		t.created = line.Time
	}
	step = max(1, t.sums.steps.count())
	t.clock.add(&t.fold.projection, &r, line.Time)
	t.sums.add(t.fold, &r, &t.clock)
	t.costs.Add(line.Kind, t.fold.projection.State())
	for _, m := range r.rows {
		m.row.Index = len(t.rows)
		t.rows = append(t.rows, m.row)
		t.events = append(t.events, m.events)
	}
	return row, step, nil
}

// Len returns the number of rows.
func (t *Trace) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.rows)
}

// Rows returns at most count rows from a number on. The caller must not change them.
func (t *Trace) Rows(first, count int) []Row {
	t.mu.RLock()
	defer t.mu.RUnlock()
	first = min(max(first, 0), len(t.rows))
	end := first + min(max(count, 0), len(t.rows)-first)
	return t.rows[first:end:end]
}

// Item returns a row with its events. The error for one that does not exist wraps fs.ErrNotExist.
func (t *Trace) Item(i int) (Item, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i < 0 || i >= len(t.rows) {
		return Item{}, fmt.Errorf("there is no row %d; the session has %d: %w", i, len(t.rows), fs.ErrNotExist)
	}
	item := Item{Row: t.rows[i], Events: []json.RawMessage{}}
	for _, ev := range t.events[i] {
		raw, err := json.Marshal(ev)
		if err != nil {
			return Item{}, err
		}
		item.Events = append(item.Events, raw)
	}
	return item, nil
}

// Overview returns the overview, with the steps from a number on and the marks since the first of
// them; 1 means all. The caller sets Own and PID, and corrects what a process that has died left
// open.
func (t *Trace) Overview(step int) Overview {
	t.mu.RLock()
	defer t.mu.RUnlock()
	o := t.now()
	o.Rows = len(t.rows)
	o.Time = t.clock.times
	t.sums.overview(&o, max(step, 1))
	return o
}

// now returns the part of the overview that depends on the state of the session.
func (t *Trace) now() Overview {
	s, masker := t.fold.projection.State(), t.fold.masker
	o := Overview{ID: s.Header.ID, Task: t.sums.task, Dir: masker.String(s.Dir()), Provider: s.Provider,
		Model: masker.String(s.Model), Profile: s.Header.Profile, Parent: s.Header.Parent, ForkOf: s.Header.ForkOf,
		Created: t.created, State: StateIdle, Window: s.Policy.Window, Usage: s.Usage, Cost: s.Cost,
		Running: []RunningCall{}, Queue: []QueuedText{}, Children: []Child{}}
	o.Parts = dearest(t.costs, masker)
	if s.Last != nil {
		o.Reason = string(s.Last.Reason)
	}
	asks := slices.ContainsFunc(s.Open(), func(c agent.OpenCall) bool { return c.Question() != nil })
	switch {
	case t.sums.closed:
		o.State = StateClosed
	case asks:
		o.State = StateWaiting
	case s.Input != nil:
		o.State = StateRunning
	}
	if s.Input != nil {
		o.Reason = ""
		for _, c := range s.Open() {
			text := callText(masker.JSON(arguments(c.Args)))
			o.Running = append(o.Running, RunningCall{CallID: c.ID, Name: masker.String(c.Name), Text: text,
				Since: t.clock.asked})
		}
	}
	for _, q := range s.Queue {
		o.Queue = append(o.Queue, QueuedText{Lane: string(q.Lane), Text: line(masker.String(q.Text))})
	}
	for _, c := range s.Children {
		row, ok := t.fold.spawned[c.Session]
		if !ok {
			row = -1
		}
		o.Children = append(o.Children, Child{Agent: c.ID, Session: c.Session,
			Task: cut(masker.String(c.Task), maxText), Status: c.Status, Row: row, Usage: c.Usage, Cost: c.Cost})
	}
	return o
}

// mostParts limits the parts of the prompt in an overview.
const mostParts = 10

// dearest returns the parts of the prompt that have cost most.
func dearest(sum *costs.Sum, masker *secret.Masker) []PromptPart {
	all := sum.Parts()
	parts := make([]PromptPart, 0, mostParts)
	for _, p := range all[:min(len(all), mostParts)] {
		part := PromptPart{Name: line(masker.String(p.String())), Requests: p.Requests, Tokens: p.Tokens, Cost: p.USD}
		if p.Args != nil {
			part.Text = callText(masker.JSON(arguments(string(p.Args))))
		}
		parts = append(parts, part)
	}
	return parts
}

// sums holds what is counted over the rows.
type sums struct {
	task   string
	closed bool
	counts Counts
	steps  columns
	tools  map[string]*ToolSum
	files  []FileSum
	byPath map[string]int
	plan   []PlanItem
	marks  []Mark
}

// overview fills the sums into an overview.
func (s *sums) overview(o *Overview, step int) {
	o.Task, o.Counts, o.Plan = s.task, s.counts, columnFrom(s.plan, 0)
	o.Steps = s.steps.from(step)
	o.FirstMark = s.steps.marksBefore(step, len(s.marks))
	o.Marks = columnFrom(s.marks, o.FirstMark)
	o.Files = make([]FileSum, 0, len(s.files))
	for _, f := range s.files {
		f.Rows = slices.Clip(f.Rows)
		o.Files = append(o.Files, f)
	}
	o.Tools = make([]ToolSum, 0, len(s.tools))
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		o.Tools = append(o.Tools, *s.tools[name])
	}
	slices.SortStableFunc(o.Tools, func(a, b ToolSum) int { return cmp.Compare(b.MS, a.MS) })
}
