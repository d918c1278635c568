package memfleet

import (
	"context"
	"sync"
	"time"
)

// monitor is a lock that tells those who wait when something under it has changed.
type monitor struct {
	sync.Mutex
	news chan struct{} // closed at the next change; nil if nobody waits
}

// changed wakes all who wait. The caller holds the lock.
func (m *monitor) changed() {
	if m.news != nil {
		close(m.news)
		m.news = nil
	}
}

// wait waits for the next change, or until a time unless that is zero. It returns an error if ctx
// has ended. The caller holds the lock, which is free in the meantime, and looks again at what it
// waits for.
func (m *monitor) wait(ctx context.Context, until time.Time) error {
	if m.news == nil {
		m.news = make(chan struct{})
	}
	news := m.news
	m.Unlock()
	defer m.Lock()
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-news:
	case <-due:
	case <-ctx.Done():
	}
	return ended(ctx)
}

// sooner returns the earlier of two times. Zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
