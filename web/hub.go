package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/journal"
)

const (
	// maxFollowed bounds the sessions that are read at a time.
	maxFollowed = 32
	// keepTime is how long a session is still read after its last user has gone, because it may be
	// opened again.
	keepTime = time.Minute
	// writersTime is the time between two checks of who writes the journals.
	writersTime = time.Second
)

// hub reads the journals of the sessions that are shown, each only once for all its users.
type hub struct {
	options Options
	ctx     context.Context // ends with the hub
	end     context.CancelFunc
	reading sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
}

func newHub(o Options) *hub {
	ctx, end := context.WithCancel(context.Background())
	h := &hub{options: o, ctx: ctx, end: end, sessions: map[string]*session{}}
	h.reading.Go(h.poll)
	return h
}

// acquire returns a session, and begins to read it if it is not read yet. The caller must release
// it.
func (h *hub) acquire(id string) (*session, error) {
	if err := journal.CheckID(id); err != nil {
		return nil, err
	}
	masker, err := h.options.SessionMasker(id)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, refuse(http.StatusServiceUnavailable, "the viewer is ending")
	}
	s := h.sessions[id]
	// The journal of a session that has ended may have been mended, or may be another one by now.
	if s != nil && (s.hasEnded() || s.masker != masker) {
		h.drop(s)
		s = nil
	}
	if s == nil {
		if err := h.makeRoom(); err != nil {
			return nil, err
		}
		s = newSession(h, id, masker)
		h.sessions[id] = s
		h.reading.Go(s.read)
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
	}
	return s, nil
}

// release ends a use of a session.
func (h *hub) release(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users > 0 || h.closed {
		return
	}
	if h.sessions[s.id] != s { // it was dropped
		s.end()
		return
	}
	s.since = time.Now()
	s.idle = time.AfterFunc(keepTime, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.users == 0 {
			h.drop(s)
		}
	})
}

// drop removes a session from the hub. It is still read as long as it has users.
func (h *hub) drop(s *session) {
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
	}
	if s.users == 0 {
		s.end()
	}
}

// makeRoom drops the session that was unused for the longest time if there are too many.
func (h *hub) makeRoom() error {
	most := maxFollowed
	if h.options.OfServer {
		most *= 4
	}
	if len(h.sessions) < most {
		return nil
	}
	var oldest *session
	for _, s := range h.sessions {
		if s.users == 0 && (oldest == nil || s.since.Before(oldest.since)) {
			oldest = s
		}
	}
	if oldest == nil && h.options.OfServer { // package server limits each token, so that none keeps others out
		return nil
	}
	if oldest == nil {
		return refuse(http.StatusServiceUnavailable,
			fmt.Sprintf("%d sessions are open in the viewer; close a tab", most))
	}
	oldest.idle.Stop()
	h.drop(oldest)
	return nil
}

// poll checks who writes the journals that are read, until the hub ends.
func (h *hub) poll() {
	ticker := time.NewTicker(writersTime)
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
		}
		h.mu.Lock()
		all := slices.Collect(maps.Values(h.sessions))
		h.mu.Unlock()
		if len(all) > 0 {
			h.lookAtWriters(all)
		}
	}
}

// lookAtWriters tells sessions who writes their journals.
func (h *hub) lookAtWriters(all []*session) {
	entries, err := h.options.Store.List(h.ctx)
	if err != nil { // reading the journals returns the same error
		return
	}
	byID := make(map[string]journal.Entry, len(entries))
	for _, e := range entries {
		byID[e.ID] = e
	}
	for _, s := range all {
		s.look(byID[s.id])
	}
}

// close ends all reading and waits for its end.
func (h *hub) close() error {
	h.mu.Lock()
	h.closed = true
	for _, s := range h.sessions {
		if s.idle != nil {
			s.idle.Stop()
		}
	}
	h.mu.Unlock()
	h.end()
	h.reading.Wait()
	return nil
}
