package guard

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Panic reports that code panicked or called runtime.Goexit.
type Panic struct {
	// What names the code, such as "BeforeStop".
	What string
	// Value holds the value of the panic, or nil for runtime.Goexit.
	Value any
	// Stack holds the goroutine's stack. The error's text omits it, because a model may read that.
	Stack string
}

// Error returns one line without the stack.
func (p *Panic) Error() string { return p.What + " " + p.Did() }

// Did returns "panicked: <value>" or "called runtime.Goexit".
func (p *Panic) Did() string {
	if p.Value == nil {
		return "called runtime.Goexit"
	}
	return fmt.Sprintf("panicked: %v", p.Value)
}

// Caught returns a Panic with the value of recover, where nil stands for runtime.Goexit. It must be
// called in a deferred function, so that the stack shows the code that panicked.
func Caught(what string, recovered any) *Panic {
	if inner, ok := recovered.(*Panic); ok { // from another goroutine that the code waited for
		return &Panic{What: what, Value: inner.Value, Stack: inner.Stack}
	}
	return &Panic{What: what, Value: recovered, Stack: string(debug.Stack())}
}

// Result holds what a function returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Start runs f on its own goroutine and returns a channel that gets its result. The error is a
// *[Panic] if f did not return.
func Start[T any](what string, f func() (T, error)) <-chan Result[T] {
	done := make(chan Result[T], 1)
	go func() {
		var r Result[T]
		returned := false
		defer func() {
			if !returned {
				r = Result[T]{Err: Caught(what, recover())}
			}
			done <- r
		}()
		r.Value, r.Err = f()
		returned = true
	}()
	return done
}

// Within runs f on its own goroutine and returns its result, or the cause of ctx if that ends
// first. Then f goes on and its result is lost.
func Within[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	select {
	case r := <-Start(what, f):
		return r.Value, r.Err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Value runs f on its own goroutine and returns its result, or a *[Panic] if f did not return.
func Value[T any](what string, f func() (T, error)) (T, error) {
	r := <-Start(what, f)
	return r.Value, r.Err
}

// Run runs f on its own goroutine and returns its error, or a *[Panic] if f did not return.
func Run(what string, f func() error) error {
	_, err := Value(what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Group is a sync.WaitGroup that passes on a panic: Wait panics with the *[Panic] of a function
// that did not return. The zero value is ready to use.
type Group struct {
	running sync.WaitGroup
	mu      sync.Mutex
	first   *Panic
}

// Go runs f on its own goroutine.
func (g *Group) Go(f func()) {
	g.running.Go(func() {
		returned := false
		defer func() {
			if returned {
				return
			}
			caught := Caught("a goroutine", recover())
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = caught
			}
		}()
		f()
		returned = true
	})
}

// Wait waits for all functions to end. It panics if one of them did not return.
func (g *Group) Wait() {
	g.running.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
