package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/journal"
)

// journalRounds is how often servers end in a test.
var journalRounds = flag.Int("p7.rounds", 3, "how often servers end while records are appended")

func entry(kind string) journal.Record {
	return journal.Record{Time: time.Unix(1, 2).UTC(), Kind: kind, Data: json.RawMessage(`{"x":1}`)}
}

func mustCreate(t testing.TB, j *journals, id string, kinds ...string) journal.Log {
	t.Helper()
	l, err := j.Create(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, kinds...)
	return l
}

func mustOpen(t testing.TB, j *journals, id string) journal.Log {
	t.Helper()
	l, err := j.Open(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustAppend(t testing.TB, l journal.Log, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		if err := l.Append(context.Background(), l.Len()+1, entry(kind)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantKinds checks what a log has, by a reader of its own.
func wantKinds(t testing.TB, j *journals, id, want string) {
	t.Helper()
	r, err := j.Read(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	got, n := "", int64(0)
	for record, err := range r.Records(context.Background(), 1) {
		if n++; err != nil || record.N != n {
			t.Fatalf("record %d is %d: %v", n, record.N, err)
		}
		got += record.Kind
	}
	if got != want || r.Len() != n {
		t.Fatalf("the log has %q, Len %d, want %q", got, r.Len(), want)
	}
}

// A worker that is taken for dead comes back and writes on.
func TestP4_ZombieAppendsNothing(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	old, next := journalsOf(t, s.connect()), journalsOf(t, s.connect())
	zombie := mustCreate(t, old, "s", "a")
	heir := mustOpen(t, next, "s")
	// nothing is an append, too
	for _, records := range [][]journal.Record{nil, {entry("x")}, {entry("x"), entry("y")}} {
		if err := zombie.Append(t.Context(), 2, records...); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("Append of %d records by a zombie = %v, want ErrConflict", len(records), err)
		}
	}
	mustAppend(t, heir, "b")
	if err := zombie.Append(t.Context(), 3, entry("x")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("Append by a zombie = %v, want ErrConflict", err)
	}
	wantKinds(t, old, "s", "ab")
	back := mustOpen(t, old, "s") // it may have the log again, as everybody
	if err := heir.Append(t.Context(), 3, entry("x")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("Append after the third Open = %v, want ErrConflict", err)
	}
	mustAppend(t, back, "c")
	wantKinds(t, next, "s", "abc")
}

// What a zombie sent before it was taken for dead arrives afterwards.
func TestP4_LateMessageOfAZombieIsRefused(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	w := &wire{server: s}
	old, next := journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w))), journalsOf(t, s.connect())
	zombie := mustCreate(t, old, "s", "a")
	w.hold()
	done := make(chan error)
	go func() { done <- zombie.Append(context.Background(), 2, entry("x")) }()
	until(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.conns[0].held) > 0
	})
	heir := mustOpen(t, next, "s")
	if err := w.release(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, journal.ErrConflict) {
		t.Errorf("Append that arrived late = %v, want ErrConflict", err)
	}
	mustAppend(t, heir, "b")
	wantKinds(t, next, "s", "ab")
}

// An Append that was written before the takeover succeeds, though nobody heard of it at the time.
func TestP4_AppendBeforeTheTakeoverCounts(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	w := &wire{server: s}
	old, next := journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w))), journalsOf(t, s.connect())
	zombie := mustCreate(t, old, "s", "a")
	w.lose()
	done := make(chan error)
	go func() { done <- zombie.Append(context.Background(), 2, entry("b")) }()
	until(t, func() bool {
		r, err := next.Read(t.Context(), "s")
		return err == nil && r.Len() == 2
	})
	heir := mustOpen(t, next, "s")
	mustAppend(t, heir, "c")
	w.mend()
	if err := <-done; err != nil {
		t.Errorf("Append that was written = %v", err)
	}
	if err := zombie.Append(t.Context(), 3, entry("x")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the one after it = %v, want ErrConflict", err)
	}
	wantKinds(t, next, "s", "abc")
}

func TestP4_LostAcknowledgementsAppendOnce(t *testing.T) {
	t.Parallel()
	a := oneServer(t).connect()
	loss := &lossy{JetStream: a.js}
	a.js = loss
	j := journalsOf(t, a)
	loss.lose.Store(1)
	l := mustCreate(t, j, "s") // also that of the first message
	want := ""
	for i := range 20 {
		loss.lose.Store(int64(i % 3))
		kind := string(rune('a' + i))
		mustAppend(t, l, kind)
		if want += kind; i%5 == 4 {
			l = mustOpen(t, j, "s")
		}
	}
	wantKinds(t, j, "s", want)
	loss.lose.Store(1)
	if _, err := l.PutBlob(t.Context(), patterned(3<<20)); err != nil {
		t.Error(err)
	}
	loss.lose.Store(1)
	if _, err := j.Fork(t.Context(), "s", "t", 3, nil); err != nil {
		t.Error(err)
	}
	wantKinds(t, j, "t", "abc")
	loss.lose.Store(1)
	if _, err := j.Create(t.Context(), "t"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of a log that is there = %v", err)
	}
}

// The connection breaks between the message and its acknowledgement, again and again.
func TestP4_BrokenConnectionsAppendOnce(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	w := &wire{server: s}
	j := journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w)))
	l := mustCreate(t, j, "s")
	const cuts = 3
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range cuts {
			before := l.Len()
			until(t, func() bool { return l.Len() > before })
			w.lose()
			<-time.After(10 * time.Millisecond) // some of what is sent now arrives
			w.mend()
		}
	}()
	want := ""
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		kind := fmt.Sprint(l.Len()+1, " ")
		want += kind
		mustAppend(t, l, kind)
	}
	wantKinds(t, j, "s", want)
}

// The caller gives up while nobody knows what has become of the Append: it is made nevertheless,
// and the log goes on.
func TestP4_UnknownOutcome(t *testing.T) {
	t.Parallel()
	s := oneServer(t)
	w := &wire{server: s}
	j := journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w)))
	l := mustCreate(t, j, "s", "a")
	w.lose()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Append(ctx, 2, entry("b")) }()
	other := journalsOf(t, s.connect())
	until(t, func() bool {
		r, err := other.Read(t.Context(), "s")
		return err == nil && r.Len() == 2
	})
	cancel()
	if l.Len() != 1 {
		t.Errorf("Len = %d before the answer, want 1", l.Len())
	}
	w.mend()
	if err := <-done; err != nil {
		t.Errorf("Append whose context ended while it was sent = %v", err)
	}
	mustAppend(t, l, "c")
	wantKinds(t, j, "s", "abc")
}

// An Append that gets no answer holds up nobody but those that have to come after it, and these
// only until their contexts end.
func TestP4_StalledAppend(t *testing.T) {
	t.Parallel()
	w := &wire{server: oneServer(t)}
	j := journalsOf(t, connectJournals(t, "", 1, nats.InProcessServer(w)))
	l := mustCreate(t, j, "s", "a")
	w.hold()
	done := make(chan error)
	go func() { done <- l.Append(context.Background(), 2, entry("b")) }()
	until(t, func() bool { return len(l.(*journalWriter).turn) == 1 })
	if l.Len() != 1 {
		t.Errorf("Len = %d, want 1", l.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() { second <- l.Append(ctx, 2, entry("x")) }()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("Append behind it = %v, want context.Canceled", err)
	}
	if err := w.release(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the Append = %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Append(t.Context(), 3, entry("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append after Close = %v, want fs.ErrClosed", err)
	}
	wantKinds(t, j, "s", "ab")
}

// What was acknowledged is there after the server has ended and started, and the writer and
// followers go on.
func TestP7_ServerRestartKeepsAppends(t *testing.T) {
	t.Parallel()
	s := startJournalServer(t, &server.Options{Host: "127.0.0.1", Port: -1, StoreDir: t.TempDir()})
	url := s.ClientURL()
	s.options.Port = s.Addr().(*net.TCPAddr).Port
	acknowledged(t, journalsOf(t, connectJournals(t, url, 1)), journalsOf(t, connectJournals(t, url, 1)),
		func(round int) {
			s.stop()
			s.start()
		})
}

// acknowledged appends while disturb disturbs, and checks that what was acknowledged is there once,
// and that a follower gets it.
func acknowledged(t *testing.T, writer, watcher *journals, disturb func(round int)) {
	t.Helper()
	rounds := int64(*journalRounds)
	l := mustCreate(t, writer, "s")
	var rounded atomic.Int64
	var seen []journal.Record
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			until(t, func() bool { return l.Len() > i*20 })
			disturb(int(i))
			rounded.Add(1)
		}
	})
	arrived := make(chan int64, 100_000)
	wg.Go(func() {
		for r, err := range watcher.Follow(ctx, "s", 1) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			seen = append(seen, r)
			arrived <- r.N
		}
	})
	n := int64(0)
	for rounded.Load() < rounds || n < rounds*20+20 {
		if err := l.Append(t.Context(), n+1, entry(fmt.Sprint(n+1))); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for got := range arrived {
		if got == n {
			break
		}
	}
	cancel()
	wg.Wait()
	r, err := watcher.Read(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for record, err := range r.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Kind != fmt.Sprint(i+1) || seen[i].Kind != record.Kind {
			t.Fatalf("record %d is %s, the follower has %s", i+1, record.Kind, seen[i].Kind)
		}
		i++
	}
	if int64(i) != n || len(seen) != i {
		t.Errorf("%d records, %d were acknowledged, the follower has %d", i, n, len(seen))
	}
	t.Logf("%d appends in %d disturbances", n, rounds)
}

// The leader of the stream dies while records are appended.
func TestP7_LeaderOfThreeReplicasDies(t *testing.T) {
	t.Parallel()
	servers := threeServers(t, 0)
	writer, watcher := journalsOf(t, connectJournals(t, urlsOf(servers), 3)),
		journalsOf(t, connectJournals(t, urlsOf(servers), 3))
	acknowledged(t, writer, watcher, func(int) { leaderDies(t, servers, writer) })
}

func urlsOf(servers []*journalServer) string {
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

// leaderDies ends the server that leads the stream of the log s, and starts it again.
func leaderDies(t *testing.T, servers []*journalServer, j *journals) {
	t.Helper()
	p, err := j.find(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		for _, s := range servers {
			if s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, p.records.stream.CachedInfo().Config.Name) {
				s.stop()
				s.start()
				return true
			}
		}
		return false
	})
}

// Workers take a log over from each other while leaders die. Each record that was acknowledged is
// there once, and no other unless its writer was told that nobody knows.
func TestP4_TakeoversWhileLeadersDie(t *testing.T) {
	t.Parallel()
	servers := threeServers(t, 0)
	watcher := journalsOf(t, connectJournals(t, urlsOf(servers), 3))
	mustCreate(t, watcher, "s")
	var stop atomic.Bool
	var mu sync.Mutex
	outcome := map[string]string{}
	takeovers := 0
	var wg sync.WaitGroup
	for w := range 3 {
		j := journalsOf(t, connectJournals(t, urlsOf(servers), 3))
		wg.Go(func() {
			for n := 0; !stop.Load(); {
				l, err := j.Open(t.Context(), "s")
				if err != nil {
					t.Error(err)
					return
				}
				for range 10 {
					if _, err := j.List(t.Context()); err != nil { // a worker does something between two appends
						t.Error(err)
					}
					n++
					kind := fmt.Sprintf("%d/%d", w, n)
					err := l.Append(t.Context(), l.Len()+1, entry(kind))
					mu.Lock()
					switch {
					case err == nil:
						outcome[kind] = "appended"
					case errors.Is(err, journal.ErrConflict):
						outcome[kind], takeovers = "refused", takeovers+1
					default:
						outcome[kind] = "unknown"
					}
					mu.Unlock()
					if err != nil {
						break
					}
				}
			}
		})
	}
	for range *journalRounds {
		before := takeoversOf(&mu, &takeovers)
		until(t, func() bool { return takeoversOf(&mu, &takeovers) > before+5 })
		leaderDies(t, servers, watcher)
	}
	stop.Store(true)
	wg.Wait()
	r, err := watcher.Read(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for record, err := range r.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		there[record.Kind]++
	}
	for kind, what := range outcome {
		if n := there[kind]; n > 1 || what == "appended" && n != 1 || what == "refused" && n != 0 {
			t.Errorf("record %s was %s, and is there %d times", kind, what, n)
		}
	}
	t.Logf("%d records, %d appends, %d refused", len(there), len(outcome), takeovers)
}

func takeoversOf(mu *sync.Mutex, n *int) int {
	mu.Lock()
	defer mu.Unlock()
	return *n
}
