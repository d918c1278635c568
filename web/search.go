package web

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// maxHits limits the rows that a search for a text finds. A search without a text finds all rows,
// so that the page can show them.
const maxHits = 1000

// A Query says which rows a search finds. All that is set has to fit.
type Query struct {
	Text    string    // in the texts, arguments, outputs and diffs of the row, ignoring case
	Kinds   []RowKind // one of them
	Failed  bool
	Changed bool   // the call has changed files
	Tool    string // of the call
	Path    string // one of Row.Paths
}

// fits reports whether a row matches the query, without its text.
func (q *Query) fits(r *Row) bool {
	return (len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind)) &&
		(!q.Failed || r.Failed) &&
		(!q.Changed || len(r.Paths) > 0) &&
		(q.Tool == "" || r.Kind == RowCall && r.Name == q.Tool) &&
		(q.Path == "" || slices.Contains(r.Paths, q.Path))
}

// Search returns the numbers of rows that a query finds, in order, and whether there may be more.
// When ctx ends it returns what it has found with the error.
func (t *Trace) Search(ctx context.Context, q Query) (found []int, more bool, err error) {
	t.mu.RLock()
	rows, events := slices.Clip(t.rows), slices.Clip(t.events)
	t.mu.RUnlock()
	word := strings.ToLower(q.Text)
	hasWord := func(ev agent.Event) bool {
		for text := range textsOf(ev) {
			if strings.Contains(strings.ToLower(text), word) {
				return true
			}
		}
		return false
	}
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return found, false, err
		}
		if !q.fits(&rows[i]) || word != "" && !slices.ContainsFunc(events[i], hasWord) {
			continue
		}
		if word != "" && len(found) == maxHits {
			return found, true, nil
		}
		found = append(found, i)
	}
	return found, false, nil
}

// textsOf yields the texts of an event that a person may look for.
func textsOf(ev agent.Event) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch e := ev.(type) {
		case *agent.UserInput:
			yield(e.Text)
		case *agent.AssistantTextEnd:
			if !yield(e.Text) {
				return
			}
			for _, s := range e.Sources {
				if !yield(s.URL) || !yield(s.Title) {
					return
				}
			}
		case *agent.ThinkingDelta:
			yield(e.Text)
		case *agent.ToolCallStart:
			// these are the last texts
			_ = yield(e.Name) && yieldAll(yield, e.Arguments) && yieldAll(yield, e.Effective)
		case *agent.ToolCallEnd:
			// these are the last texts
			_ = yield(e.Output) && yieldChanges(yield, e.Changes) && yieldAll(yield, e.Structured)
		case *agent.StepEnd:
		default:
			raw, err := json.Marshal(ev)
			if err == nil {
				yieldAll(yield, raw)
			}
		}
	}
}

// yieldAll yields the texts in a JSON value.
func yieldAll(yield func(string) bool, value json.RawMessage) bool {
	for text := range stringsOf(value) {
		if !yield(text) {
			return false
		}
	}
	return true
}

func yieldChanges(yield func(string) bool, changes []tool.Change) bool {
	for _, c := range changes {
		if !yield(c.Path) || !yield(c.From) || !yield(c.Diff) {
			return false
		}
	}
	return true
}
