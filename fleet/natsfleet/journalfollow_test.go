package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/journal"
)

// Many follow a log, from different records on. They cost the server no consumers, and end with
// their contexts.
func TestP4_ManyFollowers(t *testing.T) {
	s := oneServer(t)
	writer, watchers := journalsOf(t, s.connect()), journalsOf(t, s.connect())
	l := mustCreate(t, writer, "s", "a", "b", "c")
	leaks := goleak.IgnoreCurrent()
	const followers, records = 100, 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg, reached sync.WaitGroup
	reached.Add(followers)
	for i := range followers {
		wg.Go(func() {
			next := int64(i%5 + 1)
			for r, err := range watchers.Follow(ctx, "s", next) {
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				if r.N != next {
					t.Errorf("record %d comes before record %d", r.N, next)
				}
				if next++; r.N == records {
					reached.Done()
				}
			}
		})
	}
	for l.Len() < records {
		mustAppend(t, l, "x")
	}
	reached.Wait()
	for info := range writer.js.ListStreams(t.Context()).Info() {
		if info.State.Consumers != 0 {
			t.Errorf("stream %s has %d consumers", info.Config.Name, info.State.Consumers)
		}
	}
	cancel()
	wg.Wait()
	goleak.VerifyNone(t, leaks)
}

// A follower hears of each append by the server's word, and looks at other times only for safety.
func TestP4_NewsOfAppends(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	a := s.connect()
	j := journalsOf(t, a)
	news, err := a.nc.SubscribeSync(newsSubject + ".>")
	if err != nil {
		t.Fatal(err)
	}
	l := mustCreate(t, j, "a.b", "x", "y")
	mustOpen(t, j, "a.b")
	if err := l.Append(t.Context(), 3, entry("z")); !errors.Is(err, journal.ErrConflict) {
		t.Error(err)
	}
	if err := j.Remove(t.Context(), "a.b"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // the log, two records, a new owner, the end
		m, err := news.NextMsg(10 * time.Second)
		if err != nil || len(m.Data) > 0 || m.Subject != l.(*journalWriter).subject(newsSubject) {
			t.Fatalf("news %d: %+v, %v", i, m, err)
		}
	}
	if n, _, err := news.Pending(); err != nil || n > 0 {
		t.Errorf("%d more news, %v", n, err)
	}
}

// A log that was removed and made anew is not the one that was followed, or read.
func TestP4_MadeAnewIsAnotherLog(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	w := &wire{server: s}
	j, watchers := journalsOf(t, s.connect()), journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w)))
	zombie := mustCreate(t, j, "s", "a", "b", "c")
	r, err := j.Read(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		var last error
		for record, err := range watchers.Follow(context.Background(), "s", 1) {
			if last = err; err == nil && record.N == 3 {
				w.lose() // it sees nothing of what comes now
				got <- nil
			}
		}
		got <- last
	}()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if err := j.Remove(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	anew := mustCreate(t, j, "s", "A", "B", "C", "D")
	w.mend()
	if err := <-got; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Follow ends with %v, want fs.ErrNotExist", err)
	}
	for _, err = range r.Records(t.Context(), 1) {
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Records of a log that was removed = %v, want fs.ErrNotExist", err)
	}
	if err := zombie.Append(t.Context(), 4, entry("x")); err == nil {
		t.Error("the writer of the removed log has appended to the new one")
	}
	mustAppend(t, anew, "E")
	wantKinds(t, j, "s", "ABCDE")
}

// Many processes begin at once, and one has another idea of the number of shards. All find the same
// logs.
func TestP4_ManyMakeTheStreams(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	var wg sync.WaitGroup
	all := make([]*journals, 8)
	for i := range all {
		a := s.connect()
		wg.Go(func() {
			if a.shards = 3; i == 5 {
				a.shards = 4
			}
			j, err := newJournals(t.Context(), a)
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = j
		})
	}
	if wg.Wait(); t.Failed() {
		return
	}
	for i := range 40 {
		mustCreate(t, all[i%8], fmt.Sprint(i), "x")
	}
	for _, j := range all {
		if list, err := j.List(t.Context()); err != nil || len(list) != 40 || len(j.shards) != len(all[0].shards) {
			t.Errorf("%d logs in %d shards, %v", len(list), len(j.shards), err)
		}
	}
}

// A pass that begins late in a long log yields the same.
func TestP4_RecordsFromAnyNumber(t *testing.T) {
	t.Parallel()
	s := startJournalServer(t, &server.Options{DontListen: true, StoreDir: t.TempDir(), SyncInterval: noSync})
	a := s.connect()
	a.shards = 1
	j := journalsOf(t, a)
	l, other := mustCreate(t, j, "s"), mustCreate(t, j, "other")
	for i := range 1500 {
		if err := l.Append(t.Context(), l.Len()+1, entry(fmt.Sprint(2*i+1)), entry(fmt.Sprint(2*i+2))); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			mustAppend(t, other, "x")
		}
		if i%100 == 99 {
			l = mustOpen(t, j, "s")
		}
	}
	mustAppend(t, other, "x", "y", "z")
	for _, from := range []int64{-1, 1, 2, 1000, 1001, 1002, 1003, 1500, 2201, 2999, 3000, 3001, 9000} {
		next := max(from, 1)
		for r, err := range l.Records(t.Context(), from) {
			if err != nil || r.N != next || r.Kind != fmt.Sprint(next) {
				t.Fatalf("from %d: record %d, %s, %v", from, r.N, r.Kind, err)
			}
			next++
		}
		if next != max(3001, from) {
			t.Errorf("from %d: ends before record %d", from, next)
		}
		if from > 3000 {
			continue
		}
		for r, err := range j.Follow(t.Context(), "s", from) {
			if err != nil || r.N != max(from, 1) || r.Kind != fmt.Sprint(r.N) {
				t.Fatalf("followed from %d: record %d, %s, %v", from, r.N, r.Kind, err)
			}
			break
		}
	}
}
