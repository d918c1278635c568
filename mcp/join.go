package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
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
	ctx     context.Context // ends when the session leaves
	changed chan struct{}   // has an element if the tools have changed

	mu    sync.Mutex
	given map[string]string // fingerprints of the tools that the session has, by name
}

// Join gives a session the tools that the servers have and get, and takes away those that go.
// Changes that come together are applied together, so that they begin one epoch: a change waits a
// moment for others, and up to two seconds for servers that are still starting. The changes of a
// list during a call are applied before the call's result.
//
// The session leaves with the returned function, or when the servers are closed.
func (s *Servers) Join(session Session) (leave func()) {
	ctx, stop := context.WithCancel(s.life)
	m := &member{session: session, ctx: ctx, changed: make(chan struct{}, 1), given: map[string]string{}}
	s.mu.Lock()
	s.joined[m] = true
	s.mu.Unlock()
	signal(m.changed)
	s.busy.Go(func() { s.serve(m) })
	return func() {
		s.mu.Lock()
		delete(s.joined, m)
		s.mu.Unlock()
		stop()
		m.mu.Lock() // a change that is being applied ends first
		defer m.mu.Unlock()
	}
}

// serve applies changes to a session until it leaves.
func (s *Servers) serve(m *member) {
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.changed:
		}
		s.collect(m)
		s.apply(m.ctx, m)
	}
}

// collect waits until changes have come to rest and no server is about to start, but not for long.
func (s *Servers) collect(m *member) {
	latest := time.After(collectTime)
	for {
		var quiet <-chan time.Time
		if !s.starting() { // else its start is a change
			quiet = time.After(quietTime)
		}
		select {
		case <-m.changed:
			continue
		case <-m.ctx.Done():
		case <-latest:
		case <-quiet:
		}
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
	members := slices.Collect(maps.Keys(s.joined))
	s.mu.Unlock()
	for _, m := range members {
		s.apply(ctx, m)
	}
}

// apply makes a session's tools those of the servers.
func (s *Servers) apply(ctx context.Context, m *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
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
	} else if ctx.Err() == nil && !errors.Is(err, fs.ErrClosed) { // else the session has ended
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
