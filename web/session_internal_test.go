package web

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/secret"
)

// options returns the options of a session whose model answers with the steps.
func options(log journal.Log, steps ...llmtest.Step) agent.Options {
	return agent.Options{ID: "session", Journal: log, Env: envtest.NewMemory(nil),
		Client:  &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", steps...)}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}}
}

// When a session that was at rest goes on, its watchers get what is new, with the numbers that
// follow.
func TestN5_SessionsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemoryStore(false)
		log, err := store.Create(t.Context(), "session")
		if err != nil {
			t.Fatal(err)
		}
		work := func(s *agent.Session, err error) {
			t.Helper()
			if err == nil {
				_, err = s.Submit(t.Context(), "begin")
			}
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		work(agent.New(t.Context(), options(log, llmtest.Text("first"))))
		h := newHub(Options{Store: store, Own: func(string) Own { return nil },
			SessionMasker: func(string) (*secret.Masker, error) { return nil, nil }})
		defer func() {
			if err := h.close(); err != nil {
				t.Error(err)
			}
		}()
		s, err := h.acquire("session")
		if err != nil {
			t.Fatal(err)
		}
		defer h.release(s)
		if err := s.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w, stop := s.watch(0)
		defer stop()
		w.take()
		before := s.trace.Rows(0, 1000)
		if log, err = store.Open(t.Context(), "session"); err != nil {
			t.Fatal(err)
		}
		work(agent.Resume(t.Context(), options(log, llmtest.Text("second"))))
		time.Sleep(2 * writersTime)
		synctest.Wait()
		after := s.trace.Rows(0, 1000)
		if len(after) <= len(before) || jsonOf(t, after[:len(before)]) != jsonOf(t, before) {
			t.Errorf("the rows before:\n%s\nand after:\n%s", jsonOf(t, before), jsonOf(t, after))
		}
		if row, _ := w.take(); row != len(before) {
			t.Errorf("row %d is told to have changed, not %d", row, len(before))
		}
	})
}

// A session that nobody looks at is forgotten after a while.
func TestN5_SessionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemoryStore(false)
		log, err := store.Create(t.Context(), "session")
		if err != nil {
			t.Fatal(err)
		}
		running, err := agent.New(t.Context(), options(log, llmtest.Text("first")))
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(Options{Store: store, Own: func(string) Own { return nil },
			SessionMasker: func(string) (*secret.Masker, error) { return nil, nil }})
		s, err := h.acquire("session")
		if err != nil {
			t.Fatal(err)
		}
		h.release(s)
		time.Sleep(keepTime / 2)
		again, err := h.acquire("session")
		if err != nil || again != s {
			t.Errorf("the session is read anew: %v", err)
		}
		h.release(again)
		time.Sleep(keepTime + time.Second)
		synctest.Wait()
		if len(h.sessions) > 0 || s.ctx.Err() != context.Canceled {
			t.Errorf("%d sessions are read, %v", len(h.sessions), s.ctx.Err())
		}
		if err := running.Close(); err != nil {
			t.Error(err)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
		if _, err := h.acquire("session"); err == nil {
			t.Error("a hub that has ended reads a session")
		}
	})
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The sessions that are read at a time are bounded. One that nobody looks at makes room.
func TestN5_ManySessions(t *testing.T) {
	h := newHub(Options{Store: journal.NewMemoryStore(false), Own: func(string) Own { return nil },
		SessionMasker: func(string) (*secret.Masker, error) { return nil, nil }})
	defer func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}()
	var all []*session
	for i := range maxFollowed {
		s, err := h.acquire(fmt.Sprint("session-", i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if _, err := h.acquire("one-more"); err == nil {
		t.Error("one more session is read")
	}
	h.release(all[0])
	s, err := h.acquire("one-more")
	if err != nil {
		t.Fatal(err)
	}
	if len(h.sessions) > maxFollowed || all[0].ctx.Err() == nil {
		t.Errorf("%d sessions are read", len(h.sessions))
	}
	for _, s := range append(all[1:], s) {
		h.release(s)
	}
}

// The sessions that some tokens of a server watch do not keep those of others out: the server
// limits each token.
func TestW4_WatchersOfOthers(t *testing.T) {
	h := newHub(Options{Store: journal.NewMemoryStore(false), OfServer: true,
		SessionMasker: func(string) (*secret.Masker, error) { return nil, nil }})
	defer func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 8 * maxFollowed {
		s, err := h.acquire(fmt.Sprint("session-", i))
		if err != nil {
			t.Fatal(err)
		}
		defer h.release(s)
	}
}
