package guard

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Panic is the error of code that panicked or called runtime.Goexit.
type Panic struct {
	// What names the code, such as "BeforeStop".
	What string
	// Value is what it panicked with, nil for runtime.Goexit.
	Value any
	// Stack is the goroutine's stack at that moment. It is not in the text of the error, which may go on to a model.
	Stack string
}

// Error says what happened in one line, without the stack.
func (p *Panic) Error() string { return p.What + " " + p.Did() }

// Did says what the code did: "panicked: <value>" or "called runtime.Goexit".
func (p *Panic) Did() string {
	if p.Value == nil {
		return "called runtime.Goexit"
	}
	return fmt.Sprintf("panicked: %v", p.Value)
}

// Caught makes a Panic of what recover returned in a deferred function that runs although the code it guards did not return; nil
// means runtime.Goexit. The stack is that of the code, because deferred functions run above it.
func Caught(what string, recovered any) *Panic {
	if inner, ok := recovered.(*Panic); ok { // of another goroutine, on which the code waited
		return &Panic{What: what, Value: inner.Value, Stack: inner.Stack}
	}
	return &Panic{What: what, Value: recovered, Stack: string(debug.Stack())}
}

// Result is what code came to.
type Result[T any] struct {
	Value T
	Err   error
}

// Start runs f on a goroutine of its own and returns where its result will be. A panic or a runtime.Goexit of f is a *[Panic].
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

// Value runs f on a goroutine of its own and returns what it returns, or a *[Panic].
func Value[T any](what string, f func() (T, error)) (T, error) {
	r := <-Start(what, f)
	return r.Value, r.Err
}

// Run is [Value] for code that only has an error.
func Run(what string, f func() error) error {
	_, err := Value(what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Group is a sync.WaitGroup whose Wait panics with the *[Panic] of a function that did not return, so that it reaches whoever
// waits. Its zero value is ready.
type Group struct {
	running sync.WaitGroup
	mu      sync.Mutex
	first   *Panic
}

// Go runs f on a goroutine of its own.
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

// Wait returns when all functions have ended. It panics if one of them did not return.
func (g *Group) Wait() {
	g.running.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
