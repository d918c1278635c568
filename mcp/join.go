package mcp

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor/tool"
)

const (
	quietTime   = 200 * time.Millisecond // without another change, before changes are applied
	collectTime = 2 * time.Second        // that changes wait for servers which are still starting
)

// Session is a session as servers see it. Package agent's Session implements it.
type Session interface {
	// ReplaceTools removes the tools with some names and adds others, in one change.
	ReplaceTools(ctx context.Context, names []string, tools ...tool.Tool) error
}

// member holds a session that gets the servers' tools.
type member struct {
	session Session
	changed chan struct{} // has an element if the tools have changed
	gone    chan struct{} // closed when the session has left

	mu     sync.Mutex
	given  map[string]string // fingerprints of the tools that the session has, by name
	closed bool
}

// Join gives a session the tools that the servers have and get, and takes away those that go. Changes that come together are applied
// together, so that they begin one epoch: a change waits a moment for others, and up to two seconds for servers that are still starting.
// The changes of a list during a call are applied before the call's result.
//
// The session leaves with the returned function, or when the servers are closed.
func (s *Servers) Join(session Session) (leave func()) {
	m := &member{session: session, changed: make(chan struct{}, 1), gone: make(chan struct{}), given: map[string]string{}}
	s.mu.Lock()
	s.joined[m] = true
	s.mu.Unlock()
	signal(m.changed)
	s.busy.Go(func() { s.serve(m) })
	return sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.joined, m)
		s.mu.Unlock()
		close(m.gone)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.closed = true
	})
}

// serve applies changes to a session until it leaves.
func (s *Servers) serve(m *member) {
	ctx, stop := context.WithCancel(s.life)
	defer stop()
	go func() {
		select {
		case <-m.gone:
			stop()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		}
		s.collect(ctx, m)
		if ctx.Err() == nil {
			s.apply(ctx, m)
		}
	}
}

// collect waits until changes have come to rest.
func (s *Servers) collect(ctx context.Context, m *member) {
	latest := time.NewTimer(collectTime)
	defer latest.Stop()
	for {
		quiet := time.NewTimer(quietTime)
		select {
		case <-ctx.Done():
		case <-latest.C:
		case <-m.changed:
			quiet.Stop()
			continue
		case <-quiet.C:
			if s.starting() {
				select {
				case <-m.changed:
					continue
				case <-latest.C:
				case <-ctx.Done():
				}
			}
		}
		quiet.Stop()
		return
	}
}

// toolsChanged tells the sessions that tools have changed.
func (s *Servers) toolsChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for m := range s.joined {
		signal(m.changed)
	}
}

// applyNow applies changes to all sessions without waiting for others.
func (s *Servers) applyNow(ctx context.Context) {
	s.mu.Lock()
	members := make([]*member, 0, len(s.joined))
	for m := range s.joined {
		members = append(members, m)
	}
	s.mu.Unlock()
	for _, m := range members {
		s.apply(ctx, m)
	}
}

// apply makes a session's tools those of the servers.
func (s *Servers) apply(ctx context.Context, m *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	now := map[string]string{}
	var added []tool.Tool
	for _, t := range s.Tools() {
		now[t.Name] = fingerprint(&t)
		if m.given[t.Name] != now[t.Name] {
			added = append(added, t)
		}
	}
	var gone []string
	for name := range m.given {
		if now[name] == "" {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 && len(added) == 0 {
		return
	}
	if err := m.session.ReplaceTools(ctx, gone, added...); err == nil {
		m.given = now
	} else if ctx.Err() == nil {
		s.warn("", fmt.Errorf("the tools of MCP servers could not be changed: %w", err))
	}
}

// fingerprint returns a text that changes if a session has to get a tool again.
func fingerprint(t *tool.Tool) string {
	reads := false
	if t.Access != nil {
		access, err := t.Access("{}")
		reads = err == nil && access.Effect == tool.ReadOnly
	}
	return hashOf(t.ToolDefinition, reads) + strconv.FormatBool(t.Deferred)
}
