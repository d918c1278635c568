package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

func TestP3_Asks(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	asksOf := func() fleet.Asks {
		s, err := h.engine().Open(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		return s.Asks
	}
	a, b := asksOf(), asksOf()
	at := time.Now().UTC()
	for i, id := range []string{"x > *", "../y", "z"} {
		for range 2 {
			if err := a.Put(t.Context(), fleet.Ask{Task: fmt.Sprint("t.", i%2), ID: id, Text: id,
				At: at.Add(-time.Duration(i) * time.Second)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Put(t.Context(), fleet.Ask{Task: "t.0", ID: "z", Text: "changed"}); err != nil {
		t.Fatal(err)
	}
	list := func(task string) (ids string) {
		t.Helper()
		for ask, err := range b.Open(t.Context(), task) {
			if err != nil {
				t.Fatal(err)
			}
			ids += ask.Text + "|"
		}
		return ids
	}
	if all, of := list(""), list("t.0"); all != "z|../y|x > *|" || of != "z|x > *|" {
		t.Errorf("open: %q, of a task %q", all, of)
	}
	if list("*") != "" || list(">") != "" {
		t.Error("wildcards are ids")
	}
	got := make(chan fleet.Answer, 1)
	go func() {
		answer, err := a.Wait(t.Context(), "t.0", "z")
		if err != nil {
			t.Error(err)
		}
		got <- answer
	}()
	if err := b.Answer(t.Context(), "t.0", "other", fleet.Answer{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown ask: %v", err)
	}
	if _, err := b.Wait(t.Context(), "t.0", "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wait for an unknown ask: %v", err)
	}
	var first atomic.Int32
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			switch err := b.Answer(t.Context(), "t.0", "z", fleet.Answer{Text: fmt.Sprint(i), At: time.Now()}); {
			case err == nil:
				if !first.CompareAndSwap(0, int32(i)+1) {
					t.Error("two are first")
				}
			case !errors.Is(err, fleet.ErrAnswered):
				t.Error(err)
			}
		})
	}
	all.Wait()
	answer := <-got
	if answer.Text != fmt.Sprint(first.Load()-1) {
		t.Errorf("answered %q, but the first was %d", answer.Text, first.Load()-1)
	}
	if err := a.Answer(t.Context(), "t.0", "z", fleet.Answer{Text: answer.Text,
		At: time.Now().Add(time.Second)}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	h.stop()
	h.start()
	a, b = asksOf(), asksOf()
	if list("") != "../y|x > *|" {
		t.Errorf("after a restart: %q", list(""))
	}
	if again, err := a.Wait(t.Context(), "t.0", "z"); err != nil || again.Text != answer.Text {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := a.Wait(t.Context(), "t.0", "x > *")
		waits <- err
	}()
	if err := b.Remove(t.Context(), "t.0"); err != nil || list("") != "../y|" {
		t.Errorf("removed: %q, %v", list(""), err)
	}
	if err := <-waits; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wait for a removed ask: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Wait(short, "t.1", "../y"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v", err)
	}
}
