package checkpoint

import (
	"context"
	"runtime"
	"sync"

	"github.com/attractor-go/attractor/internal/guard"
)

// farWorkers is the number of tasks that run at the same time where each operation may have to wait
// for another machine.
const farWorkers = 8

// recordTask is a step of a recording: it looks at the entries of a folder, or reads some of its
// files.
type recordTask struct {
	in    *folder
	files []int // places of files to read; nil to look at the entries
}

// recordQueue holds the tasks that have not begun. The newest begins first, so that few directories
// are open at the same time.
type recordQueue struct {
	most    int // workers
	group   guard.Group
	mu      sync.Mutex
	changed sync.Cond // there are new tasks, or none is left, or a task has failed
	tasks   []recordTask
	workers int
	running int // tasks
	err     error
	stop    context.CancelFunc // of the tasks under way
}

// run does a task, and those that it adds. It returns the first error, after all tasks under way
// have ended.
func (q *recordQueue) run(ctx context.Context, first recordTask, do func(context.Context, recordTask) error) error {
	ctx, q.stop = context.WithCancel(ctx)
	defer q.stop()
	q.changed.L = &q.mu
	q.tasks = append(q.tasks, first)
	q.workers = 1
	q.start(ctx, do)
	q.group.Wait()
	return q.err
}

// start begins another worker.
func (q *recordQueue) start(ctx context.Context, do func(context.Context, recordTask) error) {
	q.group.Go(func() {
		returned := false
		defer func() {
			if !returned { // the environment panicked
				q.end(context.Canceled)
			}
		}()
		for t, ok := q.begin(ctx, do); ok; t, ok = q.begin(ctx, do) {
			q.end(do(ctx, t))
		}
		returned = true
	})
}

// begin returns the next task. It waits while there may be new ones.
func (q *recordQueue) begin(ctx context.Context, do func(context.Context, recordTask) error) (t recordTask, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil {
		last := len(q.tasks) - 1
		switch {
		case last >= 0:
			t = q.tasks[last]
			q.tasks[last] = recordTask{}
			q.tasks = q.tasks[:last]
			q.running++
			if last > 0 && q.workers < q.most {
				q.workers++
				q.start(ctx, do)
			}
			return t, true
		case q.running == 0:
			q.changed.Broadcast()
			return t, false
		}
		q.changed.Wait()
	}
	q.changed.Broadcast()
	return t, false
}

// end ends a task.
func (q *recordQueue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.err == nil {
		q.err = err
	}
	if q.err != nil {
		q.stop()
	}
	if q.running == 0 || q.err != nil {
		q.changed.Broadcast()
	}
}

// add adds tasks. The last one begins first.
func (q *recordQueue) add(tasks []recordTask) {
	if len(tasks) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, tasks...)
	q.changed.Broadcast()
}

// workersFor returns how many workers walk a tree.
func workersFor(direct bool) int {
	if direct {
		return runtime.GOMAXPROCS(0)
	}
	return farWorkers
}
