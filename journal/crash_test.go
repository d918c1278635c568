package journal

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scenario runs the life of a session on a system that fails, and records the outcome of each step.
type scenario struct {
	t     *testing.T
	sys   *faults
	dir   *Dir
	errs  []error
	acked [][]string // the kinds of each Append that succeeded
	maybe []string   // the kinds of an Append that failed, if none has succeeded since
	safe  int        // how many of acked a sync has covered
}

// keeps holds the numbers of files that the directories of scenarios keep open: with none, each
// call opens its file again.
var keeps = [...]int{0, keptOpen}

func newScenario(t *testing.T, keep int, fail func(c call) verdict) *scenario {
	t.Helper()
	sys := newFaults(fail)
	return &scenario{t: t, sys: sys, dir: (&Dir{path: filepath.Join(t.TempDir(), "sessions"), sys: sys}).Keep(keep)}
}

func (s *scenario) note(err error) bool {
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err == nil
}

// run continues after errors, like a program that tries again.
func (s *scenario) run() {
	ctx := context.Background()
	f, err := s.dir.Create(ctx, "s")
	if !s.note(err) {
		if f, err = s.dir.Create(ctx, "s"); !s.note(err) {
			return
		}
	}
	s.work(f, []string{"a"}, []string{"b", "c", "d"})
	s.append(f, "e")
	s.blob(f)
	s.read(f)
	s.note(f.Close())
	if f, err = s.dir.Open(ctx, "s"); !s.note(err) {
		if f, err = s.dir.Open(ctx, "s"); !s.note(err) {
			return
		}
	}
	s.work(f, []string{"f", "g"}, []string{"h"})
	s.append(f, "i", "j")
	s.fork()
	s.note(f.Close())
}

func (s *scenario) work(f Log, batches ...[]string) {
	for _, kinds := range batches {
		s.append(f, kinds...)
		if s.note(f.Sync(context.Background())) {
			s.safe = len(s.acked)
			if path := s.dir.file("s", linesExt); !s.sys.survives(path) {
				s.t.Error("Sync has returned, and the file would not survive a crash of the machine")
			}
		}
	}
}

func (s *scenario) append(f Log, kinds ...string) {
	records := make([]Record, len(kinds))
	for i, kind := range kinds {
		records[i] = Record{Time: time.Unix(0, 0), Kind: kind, Data: json.RawMessage(`{"x":"é"}`)}
	}
	writes := s.sys.ops("write", linesExt)
	if err := f.Append(context.Background(), f.Len()+1, records...); s.note(err) {
		s.acked, s.maybe = append(s.acked, kinds), nil
	} else if s.maybe == nil {
		s.maybe = kinds
	}
	if n := s.sys.ops("write", linesExt) - writes; n > 1 {
		s.t.Errorf("Append wrote %d times", n)
	}
}

func (s *scenario) blob(f Log) {
	hash, err := f.PutBlob(context.Background(), strings.NewReader("large"))
	if s.note(err) && !s.sys.survives(filepath.Join(s.dir.file("s", blobsExt), hash)) {
		s.t.Error("PutBlob has returned, and the blob would not survive a crash of the machine")
	}
}

func (s *scenario) read(f Log) {
	var got []string
	for r, err := range f.Records(context.Background(), 1) {
		if !s.note(err) {
			return
		}
		got = append(got, r.Kind)
	}
	if want := slices.Concat(s.acked...); !slices.Equal(got, want) {
		s.t.Errorf("Records = %q, want %q", got, want)
	}
}

func (s *scenario) fork() {
	fork, err := s.dir.Fork(context.Background(), "s", "t", 3,
		func(r *Record) error { r.Kind = strings.ToUpper(r.Kind); return nil })
	if !s.note(err) {
		if _, err := os.Stat(s.dir.file("t", linesExt)); err == nil && !s.sys.down && !s.failed("remove") {
			s.t.Error("Fork has failed, and there is a copy")
		}
		return
	}
	if path := s.dir.file("t", linesExt); !s.sys.survives(path) {
		s.t.Error("Fork has returned, and the copy would not survive a crash of the machine")
	}
	blobs, _ := filepath.Glob(filepath.Join(s.dir.file("t", blobsExt), "*"))
	for _, path := range blobs {
		if !s.sys.survives(path) {
			s.t.Error("Fork has returned, and a blob of the copy would not survive a crash of the machine")
		}
	}
	s.note(fork.Close())
}

// failed reports whether the fault hit a call of that kind.
func (s *scenario) failed(op string) bool {
	return s.sys.fail != nil && slices.ContainsFunc(s.sys.calls, func(c call) bool {
		return c.op == op && s.sys.fail(c).err != nil
	})
}

// check opens the journal as the next process would. It must consist of complete Appends, at least
// this many.
func (s *scenario) check(dir *Dir, atLeast int) {
	s.t.Helper()
	ctx := context.Background()
	want := slices.Clone(s.acked)
	if s.maybe != nil {
		want = append(want, s.maybe)
	}
	reader, err := dir.Read(ctx, "s")
	if errors.Is(err, fs.ErrNotExist) && atLeast == 0 {
		return
	}
	if err != nil {
		s.t.Errorf("Read: %v", err)
		return
	}
	defer reader.Close()
	f, err := dir.Open(ctx, "s")
	if err != nil {
		s.t.Errorf("Open: %v", err)
		return
	}
	defer f.Close()
	got := kindsOf(s.t, f.Records(ctx, 1))
	if read := kindsOf(s.t, reader.Records(ctx, 1)); !slices.Equal(read, got) {
		s.t.Errorf("Read has %q, Open %q", read, got)
	}
	whole := false
	for n := atLeast; n <= len(want); n++ {
		whole = whole || slices.Equal(got, slices.Concat(want[:n]...))
	}
	if !whole {
		s.t.Errorf("after reopening: %q, want the first %d or more of %q", got, atLeast, want)
	}
	if err := f.Append(ctx, f.Len()+1, Record{Kind: "z"}); err != nil {
		s.t.Errorf("Append after reopening: %v", err)
	}
}

// checkFork checks that a copy is complete or does not exist.
func (s *scenario) checkFork(dir *Dir) {
	s.t.Helper()
	r, err := dir.Read(context.Background(), "t")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.t.Errorf("Read of the copy: %v", err)
		return
	}
	defer r.Close()
	want := slices.Concat(s.acked...)[:3]
	if got := kindsOf(s.t, r.Records(context.Background(), 1)); strings.ToLower(strings.Join(got,
		" ")) != strings.Join(want, " ") {
		s.t.Errorf("the copy has %q, want %q", got, want)
	}
}

func kindsOf(t *testing.T, records func(func(Record, error) bool)) []string {
	t.Helper()
	var kinds []string
	for r, err := range records {
		if err != nil {
			t.Error(err)
		}
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// real returns the scenario's directory on a system without faults.
func (s *scenario) real() *Dir { return NewDir(s.dir.path) }

// calls returns the calls of a run without faults.
func calls(t *testing.T, keep int) []call {
	t.Helper()
	s := newScenario(t, keep, nil)
	s.run()
	if len(s.errs) > 0 || len(s.acked) != 6 || s.safe != 5 {
		t.Fatalf("undisturbed: %v; %d appended, %d safe", s.errs, len(s.acked), s.safe)
	}
	s.check(s.real(), 6)
	return s.sys.calls
}

// Whichever call fails, an error reports it, earlier records stay, and refused ones do not appear.
func TestA19_FullOrBrokenDisk(t *testing.T) {
	t.Parallel()
	for _, keep := range keeps {
		for _, bad := range calls(t, keep) {
			for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
				t.Run(fmt.Sprintf("keep_%d/%d_%s_%s_%v", keep, bad.n, bad.op, filepath.Base(bad.path), errno),
					func(t *testing.T) {
						fullOrBroken(t, keep, bad, errno)
					})
			}
		}
	}
}

// fullOrBroken runs a scenario in which one call fails.
func fullOrBroken(t *testing.T, keep int, bad call, errno syscall.Errno) {
	s := newScenario(t, keep, func(c call) verdict {
		if c.n == bad.n {
			return verdict{err: errno, short: bad.size / 2}
		}
		return verdict{}
	})
	s.run()
	for _, err := range s.errs {
		if !errors.Is(err, errno) || !strings.HasPrefix(err.Error(), "journal: ") {
			t.Errorf("error %q, want one of the journal that wraps %v", err, errno)
		}
	}
	if len(s.errs) == 0 && !harmless(bad) {
		t.Error("nobody was told")
	}
	if left := s.sys.left(); len(left) > 0 {
		t.Errorf("still open: %q", left)
	}
	if temp, _ := filepath.Glob(filepath.Join(s.dir.path, "*"+tempExt)); len(temp) > 0 {
		t.Errorf("left behind: %q", temp)
	}
	if s.failed("write") { // it has been cut off
		s.maybe = nil
	}
	s.check(s.real(), len(s.acked))
	s.checkFork(s.real())
}

// harmless reports whether a call may fail without an error: reading a blob that is about to be
// written anyway, and a link that a copy can replace.
func harmless(c call) bool {
	return c.op == "link" || strings.Contains(c.path, blobsExt+string(filepath.Separator)) &&
		(c.op == "open" || c.op == "fstat" || c.op == "read")
}

// everyByte makes the tests of crashes try each byte at which a call may end; by default they try
// the ends and some between.
var everyByte = flag.Bool("every.byte", false, "end each call at each of its bytes")

// ends returns the numbers of bytes from first to last after which a call ends in a test.
func ends(first, last int) (all []int) {
	const edge, step = 3, 7
	for n := first; n <= last; n++ {
		if *everyByte || n < first+edge || n > last-edge || n%step == 0 {
			all = append(all, n)
		}
	}
	return all
}

// A process that ends before any call, or within a write after any number of bytes, leaves complete
// Appends.
func TestA19_KilledAtEveryCallAndByte(t *testing.T) {
	t.Parallel()
	for _, keep := range keeps {
		for _, last := range calls(t, keep) {
			for _, short := range ends(0, last.size) {
				s := newScenario(t, keep, func(c call) verdict { return verdict{crash: c.n == last.n, short: short} })
				s.run()
				if !s.sys.down {
					t.Fatalf("call %d was not reached", last.n)
				}
				s.check(s.real(), len(s.acked))
				s.checkFork(s.real())
				if t.Failed() {
					t.Fatalf("killed at call %d (%s %s) after %d bytes, keep %d", last.n, last.op,
						filepath.Base(last.path), short, keep)
				}
			}
		}
	}
}

// A machine that crashes at any call keeps everything that was synced. It keeps any part of the
// rest, or NUL bytes instead.
func TestA19_MachineDownAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, keep := range keeps {
		machineDownAtEveryCall(t, keep)
	}
}

func machineDownAtEveryCall(t *testing.T, keep int) {
	after := NewDir(t.TempDir())
	seen := map[string]bool{}
	for _, last := range calls(t, keep) {
		s := newScenario(t, keep, func(c call) verdict { return verdict{crash: c.n == last.n, short: last.size} })
		s.run()
		lines := s.dir.file("s", linesExt)
		content, err := os.ReadFile(lines)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if s.sys.pending[lines] && s.safe > 0 {
			t.Fatalf("after call %d the name of the file would be lost", last.n)
		}
		state := fmt.Sprint(s.sys.durable[lines], s.safe, s.maybe, len(s.acked), len(content))
		if seen[state] {
			continue
		}
		seen[state] = true
		for _, kept := range ends(int(s.sys.durable[lines]), len(content)) {
			for _, rest := range []int{0, len(content) - kept} {
				left := append(slices.Clone(content[:kept]), make([]byte, rest)...)
				if err := errors.Join(after.discard(after.file("s", linesExt)), os.WriteFile(after.file("s", linesExt),
					left, 0o600)); err != nil {
					t.Fatal(err)
				}
				s.check(after, s.safe)
				if t.Failed() {
					t.Fatalf("machine down at call %d (%s), %d bytes kept and %d NULs", last.n, last.op, kept, rest)
				}
			}
		}
	}
}
