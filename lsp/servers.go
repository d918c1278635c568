package lsp

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
)

// The defaults of Options.
const (
	DefaultWait    = 2 * time.Second
	DefaultIdle    = 10 * time.Minute
	DefaultTimeout = 2 * time.Minute
)

// Options configures the servers of a session.
type Options struct {
	// Env is the environment in which the servers run. Its working directory is their workspace;
	// files elsewhere get no diagnostics.
	Env env.Environment
	// Servers lists the servers. The first that knows the ending of a file's name is the file's.
	Servers []Server
	// Wait is how long a call may wait for its diagnostics in all. Idle is how long a server
	// without work runs. Timeout is how long a server may take to start and answer before it is
	// ended. Zero means the defaults.
	Wait, Idle, Timeout time.Duration
	// Warn, if set, is called when a server is off for the rest of the session. It must not wait.
	Warn func(err error)
}

// Servers holds the language servers of a session and of its subagents. It is safe for concurrent
// use.
type Servers struct {
	env                 env.Environment
	wait, idle, timeout time.Duration
	silent              time.Duration // after a change about which a server says nothing
	warn                func(error)
	byEnding            map[string]*runner
	runners             []*runner
	commands            atomic.Int64 // calls that may have changed files unseen

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	late   map[agent][]diagnostic // those that came after the call that has added them
	lates  atomic.Int32           // agents with late diagnostics
	closed bool
	errs   []error
	busy   sync.WaitGroup
}

// agent identifies a session or a subagent.
type agent struct{ session, id string }

// maxLate limits the late diagnostics that are kept for an agent, and the agents.
const maxLate = 100

// New returns the servers of a session. It starts nothing.
func New(o Options) *Servers {
	s := &Servers{env: o.Env, wait: cmp.Or(o.Wait, DefaultWait), idle: cmp.Or(o.Idle, DefaultIdle),
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		silent:  silentTime, warn: o.Warn, byEnding: map[string]*runner{}, late: map[agent][]diagnostic{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, spec := range o.Servers {
		r := &runner{s: s, spec: &spec, wake: make(chan struct{}, 1)}
		s.runners = append(s.runners, r)
		for ending := range spec.Languages {
			if s.byEnding[ending] == nil {
				s.byEnding[ending] = r
			}
		}
	}
	return s
}

// of returns the runner for a file, or nil.
func (s *Servers) of(name string) *runner { return s.byEnding[path.Ext(name)] }

// concerns reports whether there is a server for one of the files.
func (s *Servers) concerns(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s.of(name) != nil })
}

// root returns the workspace's directory without symbolic links.
func (s *Servers) root(ctx context.Context) string {
	dir := s.env.WorkDir()
	if real, err := env.Resolve(ctx, s.env, dir); err == nil {
		return real
	}
	return path.Clean(dir)
}

// Close ends all servers. Calls that wait for diagnostics go on without. It may be called more than
// once.
func (s *Servers) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.busy.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.errs...)
	s.errs = nil
	return err
}

// begin runs a worker unless the servers are closed.
func (s *Servers) begin(work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Go(work)
	}
}

// keep keeps an error for Close.
func (s *Servers) keep(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) < 10 {
		s.errs = append(s.errs, err)
	}
}

// postpone keeps diagnostics for the next call of an agent.
func (s *Servers) postpone(who agent, list []diagnostic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	late, known := s.late[who]
	if len(list) == 0 || !known && len(s.late) == maxLate {
		return
	}
	s.late[who] = append(late, list[:min(len(list), maxLate-len(late))]...)
	s.lates.Store(int32(len(s.late)))
}

// overdue returns the late diagnostics for an agent that are still true.
func (s *Servers) overdue(who agent) []diagnostic {
	s.mu.Lock()
	late := s.late[who]
	delete(s.late, who)
	s.lates.Store(int32(len(s.late)))
	s.mu.Unlock()
	return slices.DeleteFunc(late, diagnostic.isGone)
}
