package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

var (
	longSessions = flag.Int("p8.sessions", 20, "how many sessions run under faults, and for the figures")
	reportDir    = flag.String("p8.report", "", "the directory for the figures, as JSON and as Markdown")
)

// patience bounds the time in which n sessions end.
func patience(n int) time.Duration { return 4*time.Minute + time.Duration(n)*3*time.Second }

// kinds returns a schedule of n faults, in which each kind happens.
func kinds(dice *rand.Rand, n int) []string {
	list := []string{kill, cut, pause, killServer, stutter}
	dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for len(list) < n {
		list = append(list, []string{kill, kill, pause, pause, cut, killServer, stutter}[dice.IntN(7)])
	}
	return list[:n]
}

// Workers are killed, stopped and cut off, and the server is killed, while sessions run. All of
// them end, no effect happens twice, and nothing that was acknowledged is lost.
func TestP8_Faults(t *testing.T) {
	t.Parallel()
	n := *longSessions
	f := newField(t, shape{servers: 1, workers: 3, slots: 3, ttl: 2 * time.Second, latency: 150 * time.Millisecond,
		maxDeaths: 100, links: true})
	dice := seed.New(t)
	f.underFaults(dice, sessions(n), kinds(dice, max(6, n/5)))
}

// Each of three servers is killed in turn, and so is each leader, and a worker between them, and at
// last all three.
func TestP8_Replicas(t *testing.T) {
	t.Parallel()
	n := *longSessions / 2
	f := newField(t, shape{servers: 3, workers: 2, slots: 3, ttl: 3 * time.Second, latency: 150 * time.Millisecond,
		maxDeaths: 100})
	dice := seed.New(t)
	f.underFaults(dice, sessions(n), []string{killServer, killServer, kill, killServer, killAll})
}

// The server's disk is full for a while: nothing that was acknowledged is lost, and sessions go on
// after a restart with space.
func TestP7_DiskFullUnderSessions(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		peer.Missing(t, "a small disk cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	f := newField(t, shape{servers: 1, workers: 2, slots: 3, ttl: 2 * time.Second, latency: 150 * time.Millisecond,
		maxDeaths: 100, store: disk})
	dice := seed.New(t)
	f.underFaults(dice, sessions(10), []string{full})
}

// A task during whose commands workers die is given up after some of them, with what it left, and
// no other one is.
func TestP4_TaskThatKillsItsWorker(t *testing.T) {
	t.Parallel()
	f := newField(t, shape{servers: 1, workers: 2, slots: 2, ttl: 2 * time.Second, latency: 20 * time.Millisecond,
		maxDeaths: 3})
	ids := append(sessions(4), killer)
	ctx, cancel := context.WithTimeout(t.Context(), patience(len(ids)))
	defer cancel()
	f.startCrews()
	f.submit(ids)
	wait := f.watchAll(ctx, ids)
	f.killWorkersOf(ctx, killer)
	watchers := wait()
	last := len(ids) - 1
	// A worker that was killed seems to be alive for as long as its lease lasts, so there may be
	// more deaths than those that count.
	if s := watchers[last].final; s == nil || s.State != fleet.Poisoned || len(s.Deaths) < 3 ||
		strings.Count(fmt.Sprint(s.Deaths), "sleep 60") != len(s.Deaths) {
		t.Errorf("the killer: %+v", s)
	}
	for _, w := range watchers[:last] {
		if w.final == nil || w.final.State != fleet.Done {
			t.Errorf("%s: %+v", w.id, w.final)
		}
	}
}

// killWorkersOf kills each worker that a task has, when a command of the task has begun, until the
// task has ended.
func (f *field) killWorkersOf(ctx context.Context, id string) {
	f.Helper()
	for killed := 0; ; killed++ {
		var s fleet.Status
		await.For(f.T, "a command of the task, or its end", func() bool {
			ran, err := f.model.ran(id)
			if err == nil {
				_, s, err = f.space.Tasks.Get(ctx, id)
			}
			return err == nil && (s.State.Final() || s.State == fleet.Running && len(ran) > killed)
		})
		if s.State.Final() {
			return
		}
		for _, c := range f.crews {
			if p := c.now(); p.Name == s.Worker {
				if err := p.end(syscall.SIGKILL); err != nil {
					f.Fatal(err)
				}
			}
		}
	}
}

// underFaults runs sessions while faults happen, and checks what became of them.
func (f *field) underFaults(dice *rand.Rand, ids, kinds []string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience(len(ids)))
	defer cancel()
	began := time.Now()
	f.startCrews()
	f.submit(ids)
	wait := f.watchAll(ctx, ids)
	s := &script{field: f, dice: dice, kinds: kinds, every: max(1, len(ids)*mostCalls/(len(kinds)+1))}
	playing, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- s.play(playing) }()
	watchers := wait()
	stop()
	if err := <-over; err != nil {
		f.Fatal(err)
	}
	took := time.Since(began)
	sum := f.check(f.Context(), watchers)
	times, others := s.takeovers(watchers)
	f.report([]row{
		{"sessions, of 6 model calls and 5 effects each", fmt.Sprint(len(ids))},
		{"time", took.Round(100 * time.Millisecond).String()},
		{"faults", fmt.Sprint(s.counts())},
		{"takeovers", fmt.Sprintf("%d; %d of tasks whose workers had no fault of their own", len(times), others)},
		{"takeover median / p95 / longest, leases of " + f.ttl.String(), quantiles(times)},
		{"effects wanted / run", fmt.Sprintf("%d / %d", sum.Wanted, sum.Ran)},
		{"effects run twice", fmt.Sprint(sum.Twice)},
		{"effects lost: told to the model, but not there", fmt.Sprint(sum.Lost)},
		{"told to the model as unknown / never run", fmt.Sprintf("%d / %d", sum.Unknown, sum.NeverRan)},
		{"records, none missing", fmt.Sprint(sum.Records)},
		{"facts that watchers were told, each once and in order", fmt.Sprint(sum.Watched)},
	})
	if sum.Unknown < sum.NeverRan {
		f.Errorf("%d effects never ran, and the model was told of %d that their outcome is unknown", sum.NeverRan,
			sum.Unknown)
	}
}
