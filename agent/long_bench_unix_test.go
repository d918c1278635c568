//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

// long holds the journal of a long session on the disk.
type long struct {
	dir   *journal.Dir
	lines [][]byte
	env   inDir
}

func newLong(b *testing.B, rounds int) *long {
	b.Helper()
	path := b.TempDir()
	l := &long{dir: journal.NewDir(path)}
	if err := longsession.Write(context.Background(), l.dir, "long", rounds); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(path, "long.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	l.lines = bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	local, err := env.NewLocal(b.TempDir(), env.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := local.Close(); err != nil {
			b.Error(err)
		}
	})
	err = l.read(func(r journal.Reader) error {
		state, err := agent.Load(context.Background(), r)
		l.env = inDir{local, state.Dir()}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// read opens the journal for reading.
func (l *long) read(do func(journal.Reader) error) error {
	r, err := l.dir.Read(context.Background(), "long")
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}

// pass decodes each line with encoding/json, with the data as R.
func pass[R any](lines [][]byte) error {
	for _, line := range lines {
		var l struct {
			N    int64     `json:"n"`
			Time time.Time `json:"t"`
			Kind string    `json:"k"`
			Data R         `json:"d"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
	}
	return nil
}

// used returns the processor time of a function. The heap is swept before.
func used(b *testing.B, do func() error) time.Duration {
	b.Helper()
	runtime.GC()
	before := processor(b)
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return processor(b) - before
}

func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkK5 reports the processor time of what reads whole journals, and its ratios to a pass of
// encoding/json over the journal, with the bodies decoded (x-json) and skipped (x-raw). All are the
// lowest of several runs, which alternate. The first number is that of the rounds.
func BenchmarkK5(b *testing.B) {
	for _, rounds := range []int{2500, 10_000} {
		b.Run(fmt.Sprint(rounds), func(b *testing.B) {
			l := newLong(b, rounds)
			for name, do := range map[string]func() error{"Resume": l.resume, "Replay": l.replay, "Project": l.project,
				"Load": l.load, "Fork": l.fork} {
				b.Run(name, func(b *testing.B) { l.compare(b, do) })
			}
		})
	}
}

// compare reports the processor time of a function and its ratios to the two passes.
func (l *long) compare(b *testing.B, do func() error) {
	best := [3]time.Duration{1 << 62, 1 << 62, 1 << 62}
	for b.Loop() {
		for i, run := range []func() error{do, func() error { return pass[any](l.lines) },
			func() error { return pass[json.RawMessage](l.lines) }} {
			best[i] = min(best[i], used(b, run))
		}
	}
	b.ReportMetric(float64(best[0].Microseconds())/1e3, "cpu-ms")
	b.ReportMetric(float64(best[0])/float64(best[1]), "x-json")
	b.ReportMetric(float64(best[0])/float64(best[2]), "x-raw")
	b.ReportMetric(0, "ns/op") // it has the passes, too
}

func (l *long) resume() error {
	log, err := l.dir.Open(context.Background(), "long")
	if err != nil {
		return err
	}
	o := longsession.Options(l.env, 0)
	o.Journal = log
	s, err := agent.Resume(context.Background(), o)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	return s.Release(context.Background())
}

func (l *long) replay() error {
	return l.read(func(r journal.Reader) error { return agent.Replay(context.Background(), r, agent.ReplayOptions{}) })
}

func (l *long) project() error {
	return l.read(func(r journal.Reader) error { return agent.Project(context.Background(), r, func(agent.Event) {}) })
}

func (l *long) load() error {
	return l.read(func(r journal.Reader) error {
		_, err := agent.Load(context.Background(), r)
		return err
	})
}

func (l *long) fork() error {
	log, err := agent.Fork(context.Background(), l.dir, "long", 0, "fork", "")
	if err != nil {
		return err
	}
	return errors.Join(log.Close(), l.dir.Remove(context.Background(), "fork"))
}
