package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/journal"
)

// The kinds of errors.
var (
	// ErrNotFound says that no session, or more than one, has the id.
	ErrNotFound = errors.New("no such session")
	// ErrNoStore says that there is no directory for sessions.
	ErrNoStore = errors.New("no store of sessions")
)

// UserStore returns the store of the user's sessions: $XDG_STATE_HOME/attractor/sessions, else
// ~/.local/state/attractor/sessions.
func UserStore(getenv func(string) string) (*journal.Dir, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return nil, fault.Errorf(ErrNoStore, "there is no directory to keep sessions in: %w", err)
	}
	return journal.NewDir(filepath.Join(state, "attractor", "sessions")), nil
}

// Find returns the id of the session whose id is the prefix, or the only one that begins with it.
// Journals without a record are not sessions, so they do not make a prefix ambiguous.
func Find(ctx context.Context, store journal.Store, prefix string) (string, error) {
	if store == nil {
		return "", fault.Errorf(ErrNoStore, "there is no session %q: sessions are not kept", prefix)
	}
	entries, err := store.List(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if e.ID == prefix {
			return e.ID, nil
		}
		if prefix != "" && strings.HasPrefix(e.ID, prefix) {
			found = append(found, e.ID)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(id string) bool { return isBlank(ctx, store, id) })
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.Errorf(ErrNotFound, "there is no session %q", prefix)
	}
	more := ""
	if n := len(found) - mostNamed; n > 0 {
		found, more = found[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return "", fault.Errorf(ErrNotFound, "%q is the beginning of several sessions: %s%s", prefix,
		strings.Join(found, ", "), more)
}

// mostNamed limits the sessions that an error names.
const mostNamed = 8

// ShortID returns the beginning of a session's id, which usually identifies it. An id that is no
// UUID stays whole: others may begin alike.
func ShortID(id string) string {
	if len(id) > 8 && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return id
}

// isBlank reports whether a journal has no record. A process that is killed at its start leaves
// such a journal.
func isBlank(ctx context.Context, store journal.Store, id string) bool {
	r, err := store.Read(ctx, id)
	if err != nil {
		return false
	}
	return r.Close() == nil && r.Len() == 0
}

// Summary describes a session in a list.
type Summary struct {
	journal.Entry
	Dir string `json:"dir,omitempty"`
	// Environment is the place of a session that began on another machine. Its directory is Dir,
	// too.
	Environment *Place    `json:"environment,omitempty"`
	Provider    string    `json:"provider,omitempty"`
	Model       string    `json:"model,omitempty"`
	Task        string    `json:"task,omitempty"` // the first input
	Created     time.Time `json:"created,omitzero"`
	Parent      string    `json:"parent,omitempty"`
	ForkOf      string    `json:"fork_of,omitempty"`
	Problem     string    `json:"problem,omitempty"` // why the session cannot be read
	// State and CostUSD, in US dollars with subagents and failed attempts, are set by Inspect.
	State   State   `json:"state,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Where returns the directory of a session and, if that is on another machine, the command that
// leads there.
func (s *Summary) Where() string {
	if s.Environment != nil {
		return s.Environment.String()
	}
	return s.Dir
}

// Home returns the directory of this machine in which a session began, by which lists of the
// sessions of a directory select it.
func (s *Summary) Home() string {
	if s.Environment != nil {
		return s.Environment.Here
	}
	return s.Dir
}

// List returns the sessions of a store, the most recently written first. It returns at most limit
// sessions; 0 means all. Journals without a record are left out.
func List(ctx context.Context, store journal.Store, limit int) ([]Summary, error) {
	entries, err := NewestFirst(ctx, store)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		entries = entries[:min(len(entries), limit)]
	}
	sessions := make([]Summary, 0, len(entries))
	for _, e := range entries {
		if s := Summarize(ctx, store, e); s.Problem != "" || !s.Created.IsZero() {
			sessions = append(sessions, s)
		}
	}
	return sessions, nil
}

// NewestFirst returns the journals of a store, the most recently written first.
func NewestFirst(ctx context.Context, store journal.Store) ([]journal.Entry, error) {
	entries, err := store.List(ctx)
	slices.SortFunc(entries, func(a, b journal.Entry) int { return b.Modified.Compare(a.Modified) })
	return entries, err
}

// Summarize reads the beginning of a journal. If that fails, it opens the journal, because the
// error of that says more.
func Summarize(ctx context.Context, store journal.Store, e journal.Entry) Summary {
	var opening agent.Opening
	b, ok := store.(interface {
		Begin(ctx context.Context, id string) iter.Seq2[journal.Record, error]
	})
	err := errors.ErrUnsupported
	if ok {
		opening, err = agent.ReadOpening(b.Begin(ctx, e.ID))
	}
	if err != nil {
		opening, err = agent.ReadOpening(recordsOf(ctx, store, e.ID))
	}
	s := Summary{Entry: e, Dir: opening.Dir, Provider: opening.Provider, Model: opening.Model, Task: opening.Task,
		Created: opening.Created, Parent: opening.Parent, ForkOf: opening.ForkOf, Environment: PlaceOf(opening.Notes)}
	if err != nil {
		s.Problem = err.Error()
	}
	return s
}

// recordsOf opens a log and yields its records.
func recordsOf(ctx context.Context, store journal.Store, id string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		r, err := store.Read(ctx, id)
		if err != nil {
			yield(journal.Record{}, err)
			return
		}
		defer r.Close() // the log was only read
		for line, err := range r.Records(ctx, 1) {
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
