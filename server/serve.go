package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/webguard"
)

// times bounds how long clients and the server may take.
type times struct {
	header  time.Duration // for a client to send the header of a request
	answer  time.Duration // for a client to send a request and to read its answer
	message time.Duration // for a watcher to read a message
	rest    time.Duration // after which an unused session is put away
	release time.Duration // for running calls to end when the grace is over
}

func usualTimes() times {
	return times{header: 5 * time.Second, answer: time.Minute, message: 30 * time.Second, rest: 30 * time.Minute,
		release: 5 * time.Second}
}

const (
	idleTime       = 2 * time.Minute
	maxHeader      = 16 << 10
	maxConnections = 1024
	// maxDeaths is how often the server may die while an input is open. After that it does not go
	// on by itself.
	maxDeaths = 2
	// atOnce limits the sessions that are opened at the same time after a start.
	atOnce = 4
)

// Serve answers requests until ctx ends, and goes on with the inputs that the server has left open
// when it ended last. When ctx ends it takes nothing new, waits until no input runs or the grace is
// over, gives the sessions away and returns nil. It closes the listener and the Server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: s.times.header, ReadTimeout: s.times.answer,
		WriteTimeout: s.times.answer, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0)}
	if err := s.begin(ctx); err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	l = webguard.FewConnections(l, maxConnections)
	if s.options.TLS != nil {
		l = tls.NewListener(l, s.options.TLS)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	keeping, stop := context.WithCancel(context.Background())
	defer stop()
	s.running.Go(func() { s.keep(keeping) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed: // the listener has failed
	}
	s.drain(ctx)
	stop()
	s.end()
	err = errors.Join(err, s.page.Close()) // those who watch go
	last, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(last) != nil { // somebody does not read
		_ = server.Close() // the connections are closed in any case
	}
	return errors.Join(err, s.Close())
}

// begin goes on with the inputs that were left open.
func (s *Server) begin(ctx context.Context) error {
	var left []*session
	for _, x := range s.all() {
		k, _ := x.now()
		if !k.Open {
			continue
		}
		open, err := x.left(ctx)
		if err != nil { // it says so when somebody wants the session
			s.options.Logger.Warn("a session cannot be read", "session", x.id, "error", x.masked(err))
		}
		x.mu.Lock()
		x.kept.Open = open
		switch held := x.kept.held(); {
		case err == nil && !open, !s.died && !held:
			x.kept.Deaths = 0
		case open && !held:
			x.kept.Deaths++
		}
		goesOn := open && !x.kept.held()
		x.mu.Unlock()
		if goesOn {
			left = append(left, x)
			x.feed.goesOn()
		}
	}
	if err := s.save(); err != nil {
		return err
	}
	room := make(chan struct{}, atOnce)
	for _, x := range left {
		s.running.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			opening, cancel := context.WithTimeout(ctx, openTime)
			defer cancel()
			if _, err := x.use(opening); err != nil {
				x.feed.rests()
				s.options.Logger.Error("a session cannot go on", "session", x.id, "error", x.masked(err))
			}
		})
	}
	return nil
}

// keep writes the register when it has changed, and puts away unused sessions, until ctx ends.
func (s *Server) keep(ctx context.Context) {
	look := time.NewTicker(time.Minute)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.unsaved:
			if err := s.save(); err != nil {
				s.options.Logger.Error("cannot write the register; it is written with the next change", "error", err)
			}
		case <-look.C:
			s.putAway(ctx)
		}
	}
}

// putAway puts away the sessions that were not used for a while.
func (s *Server) putAway(ctx context.Context) {
	for _, x := range s.all() {
		x.mu.Lock()
		unused := x.live != nil && time.Since(x.live.used) > s.times.rest
		x.mu.Unlock()
		if unused {
			x.putAway(ctx)
		}
	}
}

// makeRoom puts away the sessions at rest, of those that a token sees, that work where another one
// does, or in or around it: what that one is about to do needs the directory alone.
func (s *Server) makeRoom(ctx context.Context, a *account, x *session) {
	k, _ := x.now()
	for _, other := range s.all() {
		o, _ := other.now()
		if other != x && a.sees(o.Token) && (contains(k.Dir, o.Dir) || contains(o.Dir, k.Dir)) {
			other.putAway(ctx)
		}
	}
}

// contains reports whether a directory is another one, or has it somewhere below.
func contains(dir, other string) bool {
	rel, err := filepath.Rel(dir, other)
	return err == nil && filepath.IsLocal(rel)
}

// putAway releases the session if it is open and nothing is under way in it. The next line opens it
// again.
func (x *session) putAway(ctx context.Context) {
	if !x.lines.TryLock() {
		return
	}
	defer x.lines.Unlock()
	if !x.opening.TryLock() {
		return
	}
	defer x.opening.Unlock()
	_, l := x.now()
	state, _, _ := x.feed.summary()
	if l == nil || state != StateIdle {
		return
	}
	if l.session.Status() == agent.StatusProcessing && !x.isHeld() { // its events lag behind
		return
	}
	if err := x.release(ctx, x.server.times.release); err != nil {
		x.server.options.Logger.Warn("a session could not be put away in order", "session", x.id, "error",
			x.masked(err))
	}
}

// drain takes nothing new, waits until no input runs or the grace is over, and gives the sessions
// away. Inputs that wait for an answer are not waited for.
func (s *Server) drain(ctx context.Context) {
	s.draining.Store(true)
	over := time.NewTimer(s.options.Grace)
	defer over.Stop()
	for waiting := true; waiting; {
		var changed <-chan struct{}
		for _, x := range s.all() {
			next := x.feed.next()
			if state, _, _ := x.feed.summary(); state == StateRunning {
				changed = next
				break
			}
		}
		if changed == nil {
			break
		}
		select {
		case <-changed:
		case <-over.C:
			waiting = false
		}
	}
	var releasing sync.WaitGroup
	for _, x := range s.all() {
		releasing.Go(func() {
			x.opening.Lock()
			defer x.opening.Unlock()
			limit := s.times.release
			if state, _, _ := x.feed.summary(); state == StateWaiting { // nobody can answer any more
				limit = time.Millisecond
			}
			if err := x.release(context.WithoutCancel(ctx), limit); err != nil {
				s.options.Logger.Warn("what ran was cut off", "session", x.id, "error", x.masked(err))
			}
		})
	}
	releasing.Wait()
}

// Close ends all sessions without waiting for their inputs, and lets another server use the State
// directory. Serve calls it.
func (s *Server) Close() error {
	if !s.draining.Swap(true) {
		for _, x := range s.all() {
			_ = x.release(context.Background(), time.Millisecond) // what runs is cut off
		}
	}
	s.end()
	s.running.Wait()
	err := errors.Join(s.page.Close(), s.register.write(func() registered { return s.registered(true) }))
	if closed := s.register.close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("cannot unlock the state directory: %w", closed))
	}
	return err
}

// KillNow kills what the sessions run, for a process that exits at once.
func (s *Server) KillNow() error {
	var errs []error
	for _, x := range s.all() {
		if _, l := x.now(); l != nil {
			errs = append(errs, l.setup.KillNow())
		}
	}
	return errors.Join(errs...)
}
