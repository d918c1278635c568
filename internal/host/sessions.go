package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// UserStore returns the store of the user's sessions: $XDG_STATE_HOME/attractor/sessions, else ~/.local/state/attractor/sessions.
func UserStore(getenv func(string) string) (*journal.Dir, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification requires an absolute path
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fail(ErrNoStore, "there is no directory to keep sessions in: set XDG_STATE_HOME or HOME")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return journal.NewDir(filepath.Join(state, "attractor", "sessions")), nil
}

// Find returns the id of the session whose id equals the prefix or alone begins with it. Journals without a record are not sessions, so they
// do not make a prefix ambiguous.
func Find(ctx context.Context, store journal.Store, prefix string) (string, error) {
	if store == nil {
		return "", fail(ErrNoStore, "there is no session %q: sessions are not kept", prefix)
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
		return "", fail(ErrNoSession, "there is no session %q", prefix)
	}
	return "", fail(ErrNoSession, "%q is the beginning of several sessions: %s", prefix, strings.Join(found, ", "))
}

// isBlank reports whether a journal has no record. A process that is killed at its start leaves such a journal.
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
	Dir      string    `json:"dir,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Task     string    `json:"task,omitempty"` // the first input
	Created  time.Time `json:"created,omitzero"`
	Parent   string    `json:"parent,omitempty"`
	ForkOf   string    `json:"fork_of,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why the session cannot be read
}

// List returns the sessions of a store, the most recently written first. It returns at most limit sessions; 0 means all. Journals without a
// record are left out.
func List(ctx context.Context, store journal.Store, limit int) ([]Summary, error) {
	entries, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b journal.Entry) int { return b.Modified.Compare(a.Modified) })
	if limit > 0 {
		entries = entries[:min(len(entries), limit)]
	}
	sessions := make([]Summary, 0, len(entries))
	for _, e := range entries {
		if s := summarize(ctx, store, e); s.Problem != "" || !s.Created.IsZero() {
			sessions = append(sessions, s)
		}
	}
	return sessions, nil
}

// summarize reads the beginning of a journal.
func summarize(ctx context.Context, store journal.Store, e journal.Entry) Summary {
	s := Summary{Entry: e}
	r, err := store.Read(ctx, e.ID)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	state := new(agent.State)
	for line, err := range r.Records(ctx, 1) {
		if err == nil {
			err = state.Fold(line)
		}
		if err != nil {
			s.Problem = err.Error()
			break
		}
		if s.Created.IsZero() {
			s.Created = line.Time
		}
		if state.Input != nil {
			s.Task = state.Input.Text
			break
		}
	}
	h := state.Header
	s.Dir, s.Provider, s.Model, s.Parent, s.ForkOf = h.Dir, h.Provider, h.Model, h.Parent, h.ForkOf
	if err := r.Close(); err != nil && s.Problem == "" {
		s.Problem = err.Error()
	}
	return s
}
