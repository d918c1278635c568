package search

import (
	"context"
	"runtime"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
)

// farWorkers is the number of tasks that run at the same time where each operation may have to wait
// for another machine.
const farWorkers = 8

// task is a step of a walk: it lists a directory or visits files of one. All tasks that are not yet
// taken form a list in the order of the tree, and the tasks for a directory's entries follow that
// of the directory. Workers begin the first one that has not begun, so the walk proceeds nearly in
// the order of its results, and an early end wastes little.
type task struct {
	in    *folder
	dir   string      // the subdirectory to list, or
	files []env.Entry // the files to visit

	begun, done bool
	takes       []func() bool // to be called when all tasks before this one are done
	holds       int
	next        *task
}

// queue holds the tasks of a walk that are not yet taken.
type queue struct {
	*walker
	stop    context.CancelFunc
	group   guard.Group // passes a panic of the environment on to the caller
	most    int         // workers
	mu      sync.Mutex
	changed sync.Cond // there are new tasks, or none is left, or ended or held has changed
	first   *task
	workers int
	running int  // tasks
	held    int  // by tasks that are done and not taken
	ended   bool // nothing more is wanted
}

// run walks an open directory.
func (w *walker) run(ctx context.Context, root *folder) error {
	first, err := w.list(ctx, root)
	if err != nil || first == nil {
		return err
	}
	q := &queue{walker: w, first: first, most: farWorkers, workers: 1}
	if env.Direct(root.dir) {
		q.most = runtime.GOMAXPROCS(0)
	}
	q.changed.L = &q.mu
	ctx, q.stop = context.WithCancel(ctx)
	defer q.close()
	defer q.stop()
	q.group.Go(func() { q.work(ctx) })
	q.group.Wait()
	if outOfTime(ctx) {
		q.takeRest()
	}
	return nil
}

// work runs tasks until none is left.
func (q *queue) work(ctx context.Context) {
	returned := false
	defer func() {
		if !returned { // the environment panicked
			q.end()
		}
	}()
	visit := q.visitor()
	for t := q.begin(ctx); t != nil; t = q.begin(ctx) {
		in := t.in
		var below *task
		var err error
		if t.files != nil {
			var take func() bool
			if take, t.holds = visit(ctx, in, t.files); take != nil {
				t.takes = append(t.takes, take)
			}
		} else {
			if below, err = q.enterDir(ctx, in, t.dir); err != nil {
				t.takes = append(t.takes, q.report(in.rel(t.dir), err))
			}
		}
		t.in = nil
		if err := in.release(); err != nil {
			t.takes = append(t.takes, q.report(in.prefix[in.base:], err))
		}
		q.finish(ctx, t, below)
	}
	returned = true
}

// report returns a function that takes a problem.
func (q *queue) report(rel string, err error) func() bool {
	return func() bool {
		q.unreadable.add(rel, err)
		return true
	}
}

// begin returns the first task that has not begun, or nil if none is left. It waits while there may
// be new ones.
func (q *queue) begin(ctx context.Context) *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first != nil && !q.ended && ctx.Err() == nil {
		t := q.firstToBegin()
		if t != nil && (q.limit == 0 || q.held <= q.limit || q.running == 0) {
			t.begun = true
			q.running++
			if t.next != nil && q.workers < q.most && q.firstToBegin() != nil {
				q.workers++
				q.group.Go(func() { q.work(ctx) })
			}
			return t
		}
		q.changed.Wait()
	}
	q.changed.Broadcast()
	return nil
}

// firstToBegin returns the first task that has not begun, or nil. It joins tasks that are done, so
// that it passes few of them.
func (q *queue) firstToBegin() *task {
	for t := q.first; t != nil; t = t.next {
		for t.done && t.next != nil && t.next.done {
			t.takes = append(t.takes, t.next.takes...)
			t.holds += t.next.holds
			t.next = t.next.next
		}
		if !t.begun {
			return t
		}
	}
	return nil
}

// finish adds the tasks below a directory behind its task, which is done, and takes the tasks
// before which all are done.
func (q *queue) finish(ctx context.Context, t, below *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.done = true
	q.running--
	q.held += t.holds
	wake := q.running == 0
	if below != nil {
		last := below
		for last.next != nil {
			last = last.next
		}
		last.next, t.next = t.next, below
		wake = true
	}
	full := q.limit > 0 && q.held > q.limit
	for ; q.first != nil && q.first.done && !q.ended; q.first = q.first.next {
		q.held -= q.first.holds
		for len(q.first.takes) > 0 && !q.ended {
			if q.ended = ctx.Err() != nil; !q.ended {
				q.ended = !q.first.take()
			}
		}
	}
	if q.ended {
		q.stop()
	}
	if wake || full || q.ended || q.first == nil {
		q.changed.Broadcast()
	}
}

// take calls the first of the task's takes.
func (t *task) take() bool {
	first := t.takes[0]
	t.takes = t.takes[1:]
	return first()
}

// takeRest takes what is left of the tasks that are done, also behind others that are not.
func (q *queue) takeRest() {
	for t := q.first; t != nil; t = t.next {
		for t.done && len(t.takes) > 0 {
			if !t.take() {
				return
			}
		}
	}
}

// end ends the walk.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.stop()
	q.changed.Broadcast()
}

// close closes the folders of tasks that were not run.
func (q *queue) close() {
	for t := q.first; t != nil; t = t.next {
		if t.in == nil {
			continue
		}
		if err := t.in.release(); err != nil {
			q.unreadable.add(t.in.prefix[t.in.base:], err)
		}
	}
}
