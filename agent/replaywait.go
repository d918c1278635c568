package agent

import (
	"context"
	"sync"
)

// An outcomeWait lets calls that run wait until the journal's next record is the outcome of one
// with their id. There is one for each id, so that a record wakes its call and not all of them.
type outcomeWait struct {
	sync.Cond // on the lock of the replay
	waiting   int
}

// waitForOutcome waits until the outcome of a call may be next, or something has to be caught up
// first, or ctx ends. It is called with the lock held.
func (r *replay) waitForOutcome(ctx context.Context, call string) {
	t := r.waits[call]
	if t == nil {
		t = &outcomeWait{Cond: sync.Cond{L: &r.mu}}
		r.waits[call] = t
	}
	t.waiting++
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.Broadcast()
	})
	defer stop()
	t.Wait()
	if t.waiting--; t.waiting == 0 {
		delete(r.waits, call)
	}
}

// wake wakes those who wait for what is possible now. It is called with the lock held.
func (r *replay) wake() {
	r.changed.Broadcast()
	if r.isOthersNext("") {
		if t := r.waits[callOf(r.records[r.at])]; t != nil {
			t.Broadcast()
		}
		return
	}
	one := r.asynchronous() // any of them catches up, and wakes the next
	for _, t := range r.waits {
		t.Broadcast()
		if one {
			return
		}
	}
}
