package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

// descriptors counts the descriptors of the whole process.
const descriptors = 1024

// idle opens sessions with journals, gives each a short turn and measures them at rest.
func idle(ctx context.Context, url, dir string, n int) (figures, error) {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: descriptors,
		Max: descriptors}); err != nil {
		return figures{}, err
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		return figures{}, err
	}
	defer local.Close()
	transport := &http.Transport{MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16}
	provider, err := wire.New(wire.Options{APIKey: "k", BaseURL: url, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return figures{}, err
	}
	o := agent.Options{Profile: claude.Profile(), Env: local, System: "Be quick.",
		Client: &llm.Client{Providers: []llm.Provider{provider}}}
	store := journal.NewDir(dir)
	if err := one(ctx, o, store, "first", nil); err != nil { // what all share exists now
		return figures{}, err
	}
	sessions := make([]*agent.Session, n)
	transport.CloseIdleConnections()
	before, open := memory(), files()
	err = all(n, func(i int) error { return one(ctx, o, store, id(i), &sessions[i]) })
	transport.CloseIdleConnections()
	f := figures{Memory: (memory() - before) / float64(n), Descriptors: float64(files() - open)}
	for _, s := range sessions {
		if s != nil {
			f.Sessions++
			err = errors.Join(err, s.Close())
		}
	}
	if f.Sessions < n { // out of descriptors: that is a finding, not a failure
		f.Memory = 0
		return f, nil
	}
	return f, err
}

// one runs a session until it is at rest, and closes it if nobody wants it.
func one(ctx context.Context, o agent.Options, store journal.Store, id string, keep **agent.Session) error {
	log, err := store.Create(ctx, id)
	if err != nil {
		return err
	}
	o.ID, o.Journal = id, log
	s, err := agent.New(ctx, o)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	if _, err := s.Submit(ctx, "hello"); err != nil || keep == nil {
		return errors.Join(err, s.Close())
	}
	*keep = s
	return nil
}

// all does something n times, sixteen at once, and stops starting more after a failure.
func all(n int, do func(i int) error) error {
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	slots := make(chan struct{}, 16)
	for i := range n {
		slots <- struct{}{}
		mu.Lock()
		over := failed != nil
		mu.Unlock()
		if over {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	wait.Wait()
	return failed
}

// memory returns the bytes of the heap and of the stacks, after a full collection.
func memory() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// files returns the number of open descriptors.
func files() int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}
