package guard

import "sync"

// Crew runs functions on goroutines of their own, and keeps a few of these for the next functions, which then find a stack that is large
// enough. While it is closed, and after a runtime.Goexit, a function gets a new goroutine. The zero value is closed. A nil Crew keeps none.
//
// Its functions must leave their goroutine as it was, so it is not for tools and hooks: one that has changed its thread and relies on the
// thread's end after runtime.LockOSThread would change the next function's.
type Crew struct {
	mu   sync.Mutex
	open bool
	idle []chan func() // each leads to a goroutine that waits, the newest last
}

// mostIdle limits the goroutines that a Crew keeps.
const mostIdle = 8

// Open lets the crew keep goroutines until Close.
func (c *Crew) Open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
}

// Close ends the goroutines that wait. Those that run end with their functions.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	for _, waiting := range c.idle {
		close(waiting)
	}
	c.idle = nil
}

// Go runs f.
func (c *Crew) Go(f func()) {
	if c == nil {
		go f()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		c.idle[n-1] <- f // it has room for one
		c.idle = c.idle[:n-1]
		return
	}
	go c.work(f)
}

// work runs f and the functions that follow.
func (c *Crew) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f()
		if !c.wait(next) {
			return
		}
		f = <-next
	}
}

// wait makes a goroutine available. It reports false if the goroutine has to end.
func (c *Crew) wait(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || len(c.idle) >= mostIdle {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}
