package acp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/attractor-go/attractor/agent"
)

// openAgain returns the work of a request to open a session that is open. The session stays, and
// load shows its history again. If the editor wants other directories or MCP servers than before,
// or the session has ended, as one does that was taken over, it is closed and opened with these.
func (s *server) openAgain(open *session, o Opening, load bool) work {
	return func(ctx context.Context) (any, func(), error) {
		var err error
		switch {
		case !open.opening.same(o), open.host.Agent.Status() == agent.StatusClosed:
			open, err = s.reopen(ctx, open, o, load)
		case load && open.host.Replay != nil:
			open.reloading.Lock()
			defer open.reloading.Unlock()
			open.shown.beginReload()
			defer open.shown.endReload()
			err = open.replay(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
		open.telling.Lock()
		open.told.commands = "" // begin tells the editor of them once more
		open.telling.Unlock()
		return open.settings(), open.begin, nil
	}
}

// reopen closes a session and opens it as an editor wants it now.
func (s *server) reopen(ctx context.Context, open *session, o Opening, load bool) (*session, error) {
	ended := open.host.Agent.Status() == agent.StatusClosed // and the editor was told why
	if err := s.end(open); err != nil && !ended {
		return nil, err
	}
	if err := s.reserve(open.id); err != nil {
		return nil, err
	}
	return s.open(ctx, o, load)
}

// same reports whether two openings have the same directories and servers.
func (o Opening) same(other Opening) bool {
	text := func(o Opening) string { return fmt.Sprintf("%q %q %q", o.Dir, o.Dirs, o.Servers) }
	return text(o) == text(other)
}

// reload holds what a view knows while the history is shown again.
type reload struct {
	step    int
	running map[string]*call // the calls that had not ended before
	last    int64            // the number of the last event of the history
}

// draft is a text or thought of an answer that is not in the history yet.
type draft struct {
	kind, message string
	seq           int64 // of its last piece
	text          []byte
}

// draft shows a piece of an answer, and keeps it if it is of the present. v.mu is held.
func (v *view) draft(d draft, piece string, past bool) {
	v.text(d.kind, piece, d.message)
	if past {
		return
	}
	if n := len(v.drafts); n == 0 || v.drafts[n-1].message != d.message {
		v.drafts = append(v.drafts, d)
	}
	last := &v.drafts[len(v.drafts)-1]
	last.text, last.seq = append(last.text, piece...), d.seq
}

// beginReload lets the history be shown again. Events of the present wait until endReload.
func (v *view) beginReload() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reload = &reload{step: v.step, running: v.calls}
	v.calls, v.titled = map[string]*call{}, false
}

// repeats waits until no history is shown again, and reports whether such a history had an event of
// the present, which may come late. v.mu is held, but not while it waits.
func (v *view) repeats(ev agent.Event, past bool) bool {
	if past {
		if v.reload != nil {
			v.reload.last = max(v.reload.last, ev.Head().Seq)
		}
		return false
	}
	v.awaitReload()
	return v.repeated > 0 && ev.Head().Seq <= v.repeated
}

// awaitReload waits while the history is shown again. v.mu is held, but not while it waits.
func (v *view) awaitReload() {
	for v.reload != nil {
		v.resumed.Wait()
	}
}

// replayed removes a call that the history has from those that run. v.mu is held.
func (v *view) replayed(key string, seq int64) {
	if v.reload == nil {
		return
	}
	if c := v.reload.running[key]; c != nil && c.seq == seq {
		c.stop()
		delete(v.reload.running, key)
	}
}

// endReload shows what is not in the history: the answer that is coming and the calls that run.
func (v *view) endReload() {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.reload
	v.reload, v.step, v.repeated = nil, max(v.step, r.step), max(v.repeated, r.last)
	for _, d := range v.drafts {
		if d.seq > r.last {
			v.text(d.kind, string(d.text), d.message)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.running)) {
		c := r.running[key]
		c.stop()
		c.timer, v.calls[key] = nil, c
		v.update(c.shown)
	}
	v.resumed.Broadcast()
}
