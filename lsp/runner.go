package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/internal/stdioproc"
)

// maxRestarts limits how often a server is started again in a session after it has failed.
const maxRestarts = 3

// maxJobs limits the changes that wait for a server. Further ones get no diagnostics.
const maxJobs = 64

// runner runs one server. A goroutine starts the process when there is work, and takes one change
// after the other.
type runner struct {
	s    *Servers
	spec *Server
	wake chan struct{}

	mu      sync.Mutex
	queue   []*job
	running bool // the goroutine runs
	behind  bool // a call has not waited for all of its diagnostics, and there is still work
	off     bool
	said    map[string]verdict // the last diagnostics by file; only the goroutine changes it

	lives atomic.Bool // the process runs

	// The goroutine's own.
	in       *instance
	failures int
	tree     tree
	seen     int64 // of Servers.commands
	settled  bool  // a server that publishes has done so for an old content
}

// file holds a file that a call has changed.
type file struct {
	path     string
	old, now content
	known    bool   // old is known
	from     string // the former path of a file that was moved
}

// job holds the work on the changes of one call.
type job struct {
	of    *runner
	who   agent
	files []file
	done  chan struct{}

	mu    sync.Mutex
	found []diagnostic
	left  bool // nobody waits for it
}

// enqueue adds the changes of a call to the queue. It returns nil if the server is off or the queue
// is full.
func (r *runner) enqueue(who agent, files []file) *job {
	j := &job{of: r, who: who, files: files, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.off && r.spec.Refused != "" {
		r.off = true
		r.warn(fmt.Errorf("does not start: %s", r.spec.Refused))
	}
	if r.off || len(r.queue) == maxJobs {
		return nil
	}
	r.queue = append(r.queue, j)
	if !r.running {
		r.running = true
		r.s.begin(r.work)
	}
	signal(r.wake)
	return j
}

// wait waits for the diagnostics that a call has added, and returns those that are known when the
// context ends. The rest comes late. It does not wait for a server that is behind.
func (j *job) wait(ctx context.Context) []diagnostic {
	j.of.mu.Lock()
	behind := j.of.behind
	j.of.mu.Unlock()
	if !behind {
		select {
		case <-j.done:
		case <-ctx.Done():
		case <-j.of.s.ctx.Done():
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.done:
	default:
		j.left = true
		j.of.lag()
	}
	return j.found
}

// lag notes that a call has not waited for all of its diagnostics.
func (r *runner) lag() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = len(r.queue) > 0
}

// add keeps diagnostics for the call, or for a later one.
func (j *job) add(list []diagnostic) {
	for i := range list {
		list[i].of = j.of
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.left {
		j.of.s.postpone(j.who, list)
		return
	}
	j.found = append(j.found, list...)
}

// isGone reports whether a diagnostic is no longer among the last ones of its file.
func (d diagnostic) isGone() bool {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	id := d.identity()
	return !slices.ContainsFunc(d.of.said[d.path].list, func(now diagnostic) bool { return now.identity() == id })
}

// next returns the next job, which stays in the queue until it is finished, or nil.
func (r *runner) next() *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil
	}
	return r.queue[0]
}

// finish removes the first job.
func (r *runner) finish(j *job) {
	close(j.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = slices.Delete(r.queue, 0, 1)
	if len(r.queue) == 0 {
		r.behind = false
	}
}

// work does the jobs until the servers are closed, or the server is off.
func (r *runner) work() {
	defer func() { r.s.keep(r.end()) }()
	idle := time.NewTimer(r.s.idle)
	defer idle.Stop()
	for r.s.ctx.Err() == nil {
		j := r.next()
		if j == nil {
			if !r.rest(idle) {
				return
			}
			continue
		}
		if !r.isOff() {
			ctx, cancel := context.WithTimeoutCause(r.s.ctx, r.s.timeout,
				fmt.Errorf("it has not answered for %v", r.s.timeout))
			if err := r.do(ctx, j); err != nil && r.s.ctx.Err() == nil {
				r.fail(err)
			}
			cancel()
		}
		r.finish(j)
		idle.Reset(r.s.idle)
	}
}

// rest waits for work. It ends a server that has had none for a while, and reports false if there
// will not be any.
func (r *runner) rest(idle *time.Timer) bool {
	if r.isOff() {
		return false
	}
	var over <-chan struct{}
	if r.in != nil {
		over = r.in.Closed
	}
	select {
	case <-r.wake:
	case <-r.s.ctx.Done():
		return false
	case <-idle.C:
		r.s.keep(r.end())
	case <-over:
		r.fail(r.in.Reason())
	}
	return true
}

func (r *runner) isOff() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.off
}

// end ends the process and forgets what it has said.
func (r *runner) end() (err error) {
	if r.in != nil {
		err = r.in.close()
		r.in = nil
		r.lives.Store(false)
	}
	r.mu.Lock()
	r.said = nil
	r.mu.Unlock()
	r.tree, r.settled = nil, false
	if err != nil {
		return fmt.Errorf("the language server %s cannot be ended: %w", r.spec.Name, err)
	}
	return nil
}

// fail ends a server that has failed. After too many failures it is off.
func (r *runner) fail(why error) {
	if r.in != nil {
		if reason := r.in.Reason(); reason != nil {
			why = reason
		}
		why = withSaid(why, r.in.conn)
	}
	r.s.keep(r.end())
	r.failures++
	exit, ended := errors.AsType[*stdioproc.ExitError](why)
	missing := ended && exit.Code == stdioproc.NotFound
	if r.failures <= maxRestarts && !missing {
		return
	}
	r.mu.Lock()
	r.off = true
	r.mu.Unlock()
	if missing && r.spec.Optional {
		return
	}
	if missing {
		why = fmt.Errorf("there is no program %s in the session's PATH", clean(r.spec.Command, 200))
	}
	r.warn(fmt.Errorf("is off for the rest of the session: %w", why))
}

// warn tells the host about the server.
func (r *runner) warn(why error) {
	if r.s.warn != nil {
		r.s.warn(fmt.Errorf("the language server %s %w", r.spec.Name, why))
	}
}

// do starts the server if it does not run, and finds out what a call has added.
func (r *runner) do(ctx context.Context, j *job) (err error) {
	if r.in == nil {
		r.seen = r.s.commands.Load()
		if r.in, err = r.s.launch(ctx, r.spec); err != nil {
			r.in = nil
			return err
		}
		r.lives.Store(true)
		r.tree = tree{}
		r.tree.scan(ctx, r.s.env, r.in) // nothing has changed yet for a server that has just begun
	}
	return r.compare(ctx, j)
}
