package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// The kinds of faults.
const (
	kill       = "kill -9 of a worker"
	pause      = "a worker stopped for two leases and a half"
	stutter    = "a worker stopped for half a lease"
	cut        = "a worker cut off for two leases and a half"
	killServer = "kill -9 of a server"
	killAll    = "kill -9 of all servers at once"
	full       = "the server's disk full for two leases and a half, then a restart"
)

// blow is a fault that has happened to somebody.
type blow struct {
	kind string
	name string // of the worker
	at   time.Time
}

// script makes faults happen while sessions run.
type script struct {
	*field
	kinds []string
	every int // model calls between two faults
	dice  *rand.Rand

	healing sync.WaitGroup
	mu      sync.Mutex
	blows   []blow
	failed  error
}

// play makes the faults happen, one after the other, and returns when all have passed. It ends
// early with ctx.
func (s *script) play(ctx context.Context) error {
	defer s.healing.Wait()
	servers := 0 // that were killed
	for i, kind := range s.kinds {
		select {
		case <-s.model.after((i + 1) * s.every):
		case <-ctx.Done():
			return nil
		}
		// some calls of tools run, and some of the model
		<-time.After(time.Duration(s.dice.Int64N(int64(2 * s.latency))))
		var err error
		switch kind {
		case killServer:
			err = s.killServers(kind, servers%len(s.servers))
			servers++
		case full:
			err = s.fillDisk()
		case killAll:
			err = s.killServers(kind, s.numbers()...)
		default:
			if c := s.busiest(ctx); c != nil {
				err = s.strike(kind, c)
			}
		}
		if err != nil {
			return err
		}
	}
	s.healing.Wait()
	return s.failed
}

// busiest returns the crew whose worker has the most tasks, and waits for one that has any.
func (s *script) busiest(ctx context.Context) *crew {
	for ctx.Err() == nil {
		counts, err := s.running(ctx)
		if err != nil {
			continue // the server may be gone; each call is bounded
		}
		crews := slices.Clone(s.crews)
		slices.SortFunc(crews, func(a, b *crew) int { return counts[b.now().Name] - counts[a.now().Name] })
		if counts[crews[0].now().Name] > 0 && !s.struck(crews[0].now().Name) {
			return crews[0]
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// struck reports whether a worker has had its fault.
func (s *script) struck(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.blows, func(b blow) bool { return b.name == name })
}

// strike makes a fault happen to a worker. What passes by itself passes while others happen.
func (s *script) strike(kind string, c *crew) error {
	p := c.now()
	begin, end := func() error { return p.signal(syscall.SIGKILL) }, func() error { return nil }
	takes := s.ttl * 5 / 2
	switch {
	case kind == stutter:
		takes = s.ttl / 2
		fallthrough
	case kind == pause:
		begin, end = func() error { return p.signal(syscall.SIGSTOP) },
			func() error { return p.signal(syscall.SIGCONT) }
	case kind == cut && c.link != nil:
		begin, end = c.link.cut, c.link.join
	case kind == cut:
		return nil // it was said that this cannot be done here
	}
	s.note(blow{kind, p.Name, time.Now()})
	if err := begin(); err != nil {
		return err
	}
	if kind == kill {
		return nil
	}
	s.healing.Go(func() {
		<-time.After(takes)
		if err := end(); err != nil {
			s.mu.Lock()
			s.failed = errors.Join(s.failed, err)
			s.mu.Unlock()
		}
	})
	return nil
}

// fillDisk takes all space of the server's disk for a while, and then restarts the server: before
// that it does not write again.
func (s *script) fillDisk() error {
	s.note(blow{kind: full, at: time.Now()})
	ballast := filepath.Join(s.configs[0].Store, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if closed := f.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		return errors.Join(err, closed)
	}
	<-time.After(s.ttl * 5 / 2)
	return errors.Join(os.Remove(ballast), s.killServers(killServer, 0))
}

// killServers kills servers and starts them again.
func (s *script) killServers(kind string, list ...int) error {
	s.note(blow{kind: kind, at: time.Now()})
	for _, i := range list {
		if err := s.servers[i].end(syscall.SIGKILL); err != nil {
			return err
		}
	}
	for _, i := range list {
		if err := s.startServer(i); err != nil {
			return err
		}
	}
	for _, i := range list {
		if err := s.ready(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) note(b blow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blows = append(s.blows, b)
}

// takeovers returns how long tasks waited after the blow to their workers, in order, and how many
// deaths had another reason, such as a server that was gone for longer than a lease.
func (s *script) takeovers(watchers []*watcher) (times []time.Duration, others int) {
	at := map[string]time.Time{}
	for _, b := range s.blows {
		if b.kind != stutter { // that is nobody's end
			at[b.name] = b.at
		}
	}
	for _, w := range watchers {
		if w.final == nil {
			continue // it was said
		}
		for _, d := range w.final.Deaths {
			if began, ok := at[d.Worker]; ok {
				times = append(times, d.At.Sub(began))
			} else {
				others++
			}
		}
	}
	slices.Sort(times)
	return times, others
}

// counts returns how often each kind of fault has happened.
func (s *script) counts() map[string]int {
	counts := map[string]int{}
	for _, b := range s.blows {
		counts[b.kind]++
	}
	return counts
}
