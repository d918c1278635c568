package web

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
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
// It reads the journal, without secrets, if the query has a text. When ctx ends it returns what it
// has found with the error.
func (t *Trace) Search(ctx context.Context, from agent.Records, q Query) (rows []int, more bool, err error) {
	s := search{query: q, masker: t.masker, word: strings.ToLower(q.Text)}
	t.mu.RLock()
	s.rows, s.places, s.kept = slices.Clip(t.rows), slices.Clip(t.places), slices.Clip(t.kept)
	t.mu.RUnlock()
	if s.word == "" {
		for i := range s.rows {
			if q.fits(&s.rows[i]) {
				s.found = append(s.found, i)
			}
		}
		return s.found, false, ctx.Err()
	}
	err = s.read(ctx, from)
	return s.found, s.more, err
}

// search is a search in progress.
type search struct {
	query  Query
	word   string
	masker *secret.Masker
	rows   []Row
	places []place
	kept   []kept
	next   int // the first row that was not examined
	found  []int
	more   bool
}

// hit adds a row that has the word, unless there are maxHits.
func (s *search) hit(i int) {
	if s.more = len(s.found) == maxHits; !s.more {
		s.found = append(s.found, i)
	}
}

// searchMemory is the number of bytes of records after which a search begins a new folder, so that
// it needs little memory for a long journal.
const searchMemory = 4 << 20

// read searches the journal, record by record.
func (s *search) read(ctx context.Context, from agent.Records) error {
	f, size := newFolder(s.masker), 0
	var first journal.Record
	for line, err := range from.Records(ctx, 1) {
		if err != nil || s.more || s.next == len(s.rows) {
			return err
		}
		if line.N == 1 {
			first = line
		}
		if size > searchMemory && len(f.projection.State().Calls) == 0 {
			f, size = newFolder(s.masker), 0
			if _, err := f.add(first); err != nil {
				return err
			}
		}
		r, err := f.add(line)
		if err != nil {
			return err
		}
		size += len(line.Data)
		s.record(line.N, r.rows)
	}
	return ctx.Err()
}

// record searches the rows of a record.
func (s *search) record(n int64, rows []made) {
	nth := map[RowKind]int{}
	for ; s.next < len(s.rows) && s.places[s.next].last == n; s.next++ {
		row := &s.rows[s.next]
		events := pick(rows, row.Kind, nth[row.Kind])
		if events == nil {
			events = keptOf(s.kept, s.next)
		}
		nth[row.Kind]++
		if !s.more && s.query.fits(row) && slices.ContainsFunc(events, s.matches) {
			s.hit(s.next)
		}
	}
}

// matches reports whether an event has the word.
func (s *search) matches(ev agent.Event) bool {
	for text := range textsOf(ev) {
		if strings.Contains(strings.ToLower(text), s.word) {
			return true
		}
	}
	return false
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
