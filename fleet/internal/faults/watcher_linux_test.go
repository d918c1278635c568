package faults

import (
	"context"
	"fmt"
	"sync"

	"github.com/attractor-go/attractor/fleet"
)

// fact is an event that a watcher was told, with the number of its record.
type fact struct {
	n     int64
	event string
}

// watcher watches one session from its beginning to its end, however often the connection breaks.
type watcher struct {
	id       string
	facts    []fact
	statuses []fleet.Status
	broken   int // how often a watch ended early
	final    *fleet.Status
}

// watch follows a session until its final status, or until ctx ends.
func (w *watcher) watch(ctx context.Context, client *fleet.Client) {
	from := int64(1)
	for w.final == nil && ctx.Err() == nil {
		var incomplete bool // the last fact was not the last one of its record
		for u, err := range client.Watch(ctx, w.id, from) {
			if err != nil {
				w.broken++
				break
			}
			if u.Status != nil {
				w.statuses = append(w.statuses, *u.Status)
				if u.Status.State.Final() {
					w.final = u.Status
				}
			}
			if u.N > 0 {
				w.facts, incomplete, from = append(w.facts, fact{u.N, string(u.Event)}), u.More, u.N+1
			}
		}
		for incomplete && len(w.facts) > 0 && w.facts[len(w.facts)-1].n == from-1 { // they come again
			w.facts = w.facts[:len(w.facts)-1]
		}
		if incomplete {
			from--
		}
	}
}

// watchAll watches sessions. The function that it returns waits until all have ended.
func (f *field) watchAll(ctx context.Context, ids []string) (wait func() []*watcher) {
	var all sync.WaitGroup
	list := make([]*watcher, len(ids))
	for i, id := range ids {
		list[i] = &watcher{id: id}
		all.Go(func() { list[i].watch(ctx, f.client) })
	}
	return func() []*watcher {
		all.Wait()
		return list
	}
}

// same says how the facts of two watchers of one session differ, or nothing.
func (w *watcher) same(other *watcher) string {
	for i := range max(len(w.facts), len(other.facts)) {
		switch {
		case i >= len(w.facts):
			return fmt.Sprintf("fact %d is missing: %.200s", i, other.facts[i].event)
		case i >= len(other.facts):
			return fmt.Sprintf("fact %d is too many: %.200s", i, w.facts[i].event)
		case w.facts[i] != other.facts[i]:
			return fmt.Sprintf("fact %d is record %d: %.200s\n, not record %d: %.200s", i, w.facts[i].n,
				w.facts[i].event, other.facts[i].n, other.facts[i].event)
		}
	}
	return ""
}
