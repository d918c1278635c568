package memfleet

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/attractor-go/attractor/fleet"
)

// waiting bounds the messages that a listener may leave unread before it loses some.
const waiting = 64

// busTable holds the listeners, and the owners, which answer requests.
type busTable struct {
	sync.Mutex
	listeners map[*listener]bool
	owners    map[string]*owner // by task
}

// listener gets what is published for a task, or for all if its id is empty.
type listener struct {
	id       string
	messages chan []byte
}

// owner answers the requests for a task.
type owner struct {
	ctx    context.Context // the handler's
	handle func(ctx context.Context, request []byte) []byte
	open   sync.WaitGroup // requests that are being answered
}

// bus implements [fleet.Bus].
type bus struct {
	e *Engine
	*busTable
}

// Publish implements [fleet.Bus].
func (b bus) Publish(ctx context.Context, id string, data []byte) error {
	if err := b.e.check(ctx); err != nil {
		return err
	}
	data = append([]byte{}, data...) // not nil, which would mean something else
	b.Lock()
	defer b.Unlock()
	for l := range b.listeners {
		if l.id != "" && l.id != id {
			continue
		}
		select {
		case l.messages <- data:
		default: // it is too slow
		}
	}
	return nil
}

// Listen implements [fleet.Bus].
func (b bus) Listen(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, done := b.e.within(ctx)
		defer done()
		l := &listener{id, make(chan []byte, waiting)}
		b.listen(l, true)
		defer b.listen(l, false)
		err := context.Cause(ctx)
		if !yield(nil, err) || err != nil {
			return
		}
		for {
			select {
			case m := <-l.messages:
				if !yield(bytes.Clone(m), nil) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

func (b bus) listen(l *listener, on bool) {
	b.Lock()
	defer b.Unlock()
	if on {
		b.listeners[l] = true
	} else {
		delete(b.listeners, l)
	}
}

// Serve implements [fleet.Bus]. The last caller for a task is its owner.
func (b bus) Serve(ctx context.Context, id string,
	handle func(ctx context.Context, request []byte) []byte) (stop func(), err error) {
	if err := b.e.check(ctx); err != nil {
		return nil, err
	}
	ctx, done := b.e.within(ctx)
	o := &owner{ctx: ctx, handle: handle}
	b.Lock()
	defer b.Unlock()
	b.owners[id] = o
	leave := func() {
		b.Lock()
		defer b.Unlock()
		if b.owners[id] == o {
			delete(b.owners, id)
		}
	}
	context.AfterFunc(ctx, leave)
	return func() { leave(); o.open.Wait(); done() }, nil
}

// Request implements [fleet.Bus].
func (b bus) Request(ctx context.Context, id string, request []byte) ([]byte, error) {
	ctx, done := b.e.within(ctx)
	defer done()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	o := b.owner(id)
	if o == nil {
		return nil, fmt.Errorf("task %.200q: %w", id, fleet.ErrNoOwner)
	}
	reply := make(chan []byte, 1)
	request = bytes.Clone(request)
	go func() {
		defer o.open.Done()
		reply <- o.handle(o.ctx, request)
	}()
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-o.ctx.Done():
	}
	select {
	case r := <-reply:
		return r, nil
	default:
		return nil, fmt.Errorf("fleet: the owner of task %.200q has ended, and nobody knows what it did", id)
	}
}

// owner returns the owner of a task, or nil. The caller calls open.Done when the request is
// answered.
func (b bus) owner(id string) *owner {
	b.Lock()
	defer b.Unlock()
	o := b.owners[id]
	if o != nil {
		o.open.Add(1)
	}
	return o
}
