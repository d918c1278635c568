package server

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// account counts what a token uses. It is safe for concurrent use.
type account struct {
	Token
	sum [32]byte

	watching atomic.Int64 // streams

	mu       sync.Mutex
	minute   time.Time // in which requests are counted
	requests int
	held     int64 // bytes of bodies and files in memory
	keys     map[string]*keyed
	order    []string // of keys
}

// sees reports whether the token sees the sessions of a token with a name.
func (a *account) sees(token string) bool { return a.Owner || a.Name == token }

// request counts a request. If there were most within a minute, it returns the time until the next
// one is possible.
func (a *account) request(most int, now time.Time) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if since := now.Sub(a.minute); since >= time.Minute || since < 0 {
		a.minute, a.requests = now, 0
	}
	if a.requests >= most {
		return a.minute.Add(time.Minute).Sub(now), false
	}
	a.requests++
	return 0, true
}

// keyed is the answer to a request with an Idempotency-Key.
type keyed struct {
	request [32]byte      // the hash of the request
	done    chan struct{} // closed when the request was answered

	status int // 0 if the request failed temporarily and may be sent again
	header http.Header
	body   []byte
}

// The bounds of the answers that are kept for a token.
const (
	maxKey  = 255
	maxKeys = 1000
	// maxKeyed limits the bytes of an answer that is kept. A longer one, which can only be a diff,
	// is computed again.
	maxKeyed = 16 << 10
	// maxHeld limits the bytes of the bodies and files of a token that are in memory at the same
	// time: two of the largest files, or four of the largest bodies.
	maxHeld = 128 << 20
)

// hold counts bytes that are in memory until the request is answered. It returns an error if the
// token has too many.
func (c *call) hold(n int64) error {
	a := c.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held+n > maxHeld {
		return limited(time.Second, "the token %s has %d bytes under way; wait for some requests", a.Name, a.held)
	}
	a.held += n
	c.held += n
	return nil
}

// releaseHeld ends the counting of the bytes of hold.
func (c *call) releaseHeld() {
	if a := c.account; a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held -= c.held
	}
}

// sum returns the hash of the request.
func (c *call) sum() [32]byte {
	return sha256.Sum256(bytes.Join([][]byte{[]byte(c.r.Method), []byte(c.r.URL.Path), c.body}, []byte{0}))
}

// once calls do, unless the same request came before with the same key: then it waits until that
// one is answered, and repeats its answer.
func (c *call) once(key string, do func() error) error {
	a, sum := c.account, c.sum()
	for {
		a.mu.Lock()
		was := a.keys[key]
		if was == nil {
			was = &keyed{request: sum, done: make(chan struct{})}
			a.keep(key, was)
			a.mu.Unlock()
			return c.first(key, was, do)
		}
		a.mu.Unlock()
		if was.request != sum {
			return errKeyReused()
		}
		select {
		case <-was.done:
		case <-c.r.Context().Done():
			return c.r.Context().Err()
		}
		if was.status == 0 {
			continue // its answer was not kept
		}
		for name, values := range was.header {
			c.w.Header()[name] = values
		}
		c.w.Header().Set("Idempotent-Replayed", "true")
		c.status, c.answer = was.status, was.body
		return nil
	}
}

// keep adds an answer. If there are too many, it drops the oldest complete one. a.mu is held.
func (a *account) keep(key string, one *keyed) {
	a.keys[key], a.order = one, append(a.order, key)
	if len(a.order) <= maxKeys {
		return
	}
	for i, old := range a.order {
		select {
		case <-a.keys[old].done:
			delete(a.keys, old)
			a.order = slices.Delete(a.order, i, i+1)
			return
		default:
		}
	}
}

// first carries out a request and keeps its answer, unless it failed temporarily.
func (c *call) first(key string, as *keyed, do func() error) error {
	defer c.account.answered(key, as)
	if err := do(); err != nil {
		c.status, c.answer = c.server.problem(c.w.Header(), refusalOf(err))
	}
	if c.status < http.StatusInternalServerError && c.status != http.StatusTooManyRequests &&
		len(c.answer) <= maxKeyed {
		as.status, as.body, as.header = c.status, c.answer, http.Header{"Content-Type": c.w.Header()["Content-Type"]}
	}
	return nil
}

// answered ends the wait for an answer. It drops the key if there is no answer to keep.
func (a *account) answered(key string, as *keyed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if as.status == 0 {
		delete(a.keys, key)
		a.order = slices.DeleteFunc(a.order, func(old string) bool { return old == key })
	}
	close(as.done)
}
