package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/filelock"
	"github.com/attractor-go/attractor/internal/seed"
)

// manyJournals is the number of journals for which processes contend.
const manyJournals = 60

// many returns the ids of the journals of the tests in this file.
func many() []string {
	ids := make([]string, manyJournals)
	for i := range ids {
		ids[i] = fmt.Sprint("s", i)
	}
	return ids
}

func skipWithoutLinks(t *testing.T) {
	t.Helper()
	if !unlinkLocked {
		t.Skip("the system does not remove files that are open, so locks are not links")
	}
}

// checkLocked checks that nobody else can write a journal.
func checkLocked(t *testing.T, dir *Dir, id string) {
	t.Helper()
	locked := (*LockedError)(nil)
	if _, err := NewDir(dir.path).Open(context.Background(), id); !errors.As(err, &locked) ||
		locked.PID != os.Getpid() {
		t.Errorf("Open of %s = %v, want one that this process has", id, err)
	}
}

// The locks of one Dir share a file. Each of them is taken and released by itself.
func TestK9_LocksShareAFile(t *testing.T) {
	skipWithoutLinks(t)
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	logs := map[string]Log{}
	for _, id := range many() {
		logs[id] = created(t, dir, id, "a")
	}
	list, err := NewDir(dir.path).List(ctx)
	if err != nil || len(list) != len(logs) {
		t.Fatalf("List has %d, %v", len(list), err)
	}
	for _, e := range list {
		if !e.Locked || e.PID != os.Getpid() {
			t.Errorf("List has %+v, want it locked by this process", e)
		}
	}
	ids := many()
	seed.New(t).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i, id := range ids {
		checkLocked(t, dir, id)
		closed(t, logs[id])
		if i%2 == 0 {
			if logs[id], err = dir.Open(ctx, id); err != nil {
				t.Fatal(err)
			}
			closed(t, logs[id])
		}
		other, err := NewDir(dir.path).Open(ctx, id)
		if err != nil {
			t.Fatalf("%s was closed: %v", id, err)
		}
		closed(t, other)
	}
	if files, err := filepath.Glob(filepath.Join(dir.path, "*"+lockExt)); err != nil || len(files) > 0 {
		t.Errorf("left: %q, %v", files, err)
	}
}

// A program of the time when each journal had a lock file of its own sees the locks of today, and
// the other way round.
func TestK9_OlderPrograms(t *testing.T) {
	skipWithoutLinks(t)
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	for _, id := range []string{"a", "b"} {
		created(t, dir, id, "x")
		h, err := disk{}.open(dir.file(id, lockExt), os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.lock(false); !errors.Is(err, filelock.ErrLocked) || writer(h) != os.Getpid() {
			t.Errorf("an older program finds %s %v, with process %d", id, err, writer(h))
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	closed(t, created(t, dir, "c", "x"))
	older, err := disk{}.open(dir.file("c", lockExt), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	if err := older.lock(false); err != nil {
		t.Fatal(err)
	}
	if _, err := older.WriteAt([]byte("4711                \n"), 0); err != nil {
		t.Fatal(err)
	}
	locked := (*LockedError)(nil)
	if _, err := dir.Open(ctx, "c"); !errors.As(err, &locked) || locked.PID != 4711 {
		t.Errorf("Open = %v, want one that process 4711 has", err)
	}
}

// Without links, or with a limit on them, locks have more files.
func TestK9_LocksWithoutLinks(t *testing.T) {
	skipWithoutLinks(t)
	ctx := context.Background()
	for most, files := range map[int]int{1: 20, 8: 3} {
		names := 0
		sys := newFaults(nil)
		sys.fail = func(c call) verdict {
			if c.op == "open" && strings.HasSuffix(c.path, lockExt) {
				names = 1
			}
			if c.op != "link" {
				return verdict{}
			}
			if names++; names > most {
				return verdict{err: syscall.EMLINK}
			}
			return verdict{}
		}
		dir := (&Dir{path: t.TempDir(), sys: sys}).Keep(0)
		var logs []Log
		for i := range 20 {
			logs = append(logs, created(t, dir, fmt.Sprint(i), "a"))
		}
		if n := len(sys.left()); n != files {
			t.Errorf("%d lock files are open, want %d: %q", n, files, sys.left())
		}
		for i, f := range logs {
			checkLocked(t, dir, fmt.Sprint(i))
			closed(t, f)
			again, err := NewDir(dir.path).Open(ctx, fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			closed(t, again)
		}
		if left := sys.left(); len(left) > 0 {
			t.Errorf("still open: %q", left)
		}
	}
}

// A lock is not linked to the lock file of another writer, who has taken the place of one that
// somebody removed.
func TestK9_ReplacedLockFile(t *testing.T) {
	skipWithoutLinks(t)
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	created(t, dir, "a", "x")
	if err := os.Remove(dir.file("a", lockExt)); err != nil {
		t.Fatal(err)
	}
	other, err := NewDir(dir.path).Open(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	b := created(t, dir, "b", "x")
	c := created(t, dir, "c", "x")
	closed(t, other)
	checkLocked(t, dir, "b")
	checkLocked(t, dir, "c")
	closed(t, b)
	checkLocked(t, dir, "c")
	closed(t, c)
	if again, err := NewDir(dir.path).Open(ctx, "b"); err != nil {
		t.Error(err)
	} else {
		closed(t, again)
	}
}

// A directory that is removed and made anew gets new locks.
func TestK9_DirectoryMadeAnew(t *testing.T) {
	skipWithoutLinks(t)
	dir := NewDir(filepath.Join(t.TempDir(), "sessions"))
	old := created(t, dir, "a", "x")
	if err := os.RemoveAll(dir.path); err != nil {
		t.Fatal(err)
	}
	if err := old.Append(context.Background(), 2, Record{Kind: "y"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append = %v, want fs.ErrNotExist", err)
	}
	fresh := created(t, dir, "a", "x")
	checkLocked(t, dir, "a")
	closed(t, old)
	checkLocked(t, dir, "a")
	closed(t, fresh)
}

// holdMany keeps all journals open.
func holdMany(dir *Dir) error {
	for _, id := range many() {
		f, err := dir.Create(context.Background(), id)
		if err == nil {
			err = f.Append(context.Background(), 1, Record{Kind: "held"})
		}
		if err != nil {
			return err
		}
	}
	return idle(dir)
}

// claimMany opens as many journals as it can when its input has a line. It prints their ids and
// keeps them open.
func claimMany(dir *Dir) error {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	dice, err := dice()
	if err != nil {
		return err
	}
	ids := many()
	dice.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var won []string
	for _, id := range ids {
		_, err := dir.Open(context.Background(), id)
		if err == nil {
			won = append(won, id)
		} else if !errors.Is(err, ErrLocked) {
			return err
		}
	}
	fmt.Println(strings.Join(won, " "))
	return idle(dir)
}

// A process that is killed frees all its journals. Of the processes that then want them, one gets
// each.
func TestK9_KilledWithManyJournals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir, dice := NewDir(t.TempDir()), seed.New(t)
	for range 3 {
		held := play(t, "hold many", dir, 0)
		if said := held.line(t); said != "idle" {
			t.Fatalf("the process says %q", said)
		}
		list, err := dir.List(ctx)
		if err != nil || len(list) != manyJournals {
			t.Fatalf("List has %d, %v", len(list), err)
		}
		for _, e := range list {
			if !e.Locked || e.PID != held.cmd.Process.Pid {
				t.Errorf("List has %+v, want it locked by %d", e, held.cmd.Process.Pid)
			}
		}
		var players []*player
		for range 4 {
			p := play(t, "claim many", dir, dice.Uint64())
			if said := p.line(t); said != "ready" {
				t.Fatalf("a process says %q", said)
			}
			players = append(players, p)
		}
		held.kill(t)
		for _, p := range players {
			if _, err := fmt.Fprintln(p.in); err != nil {
				t.Fatal(err)
			}
		}
		var won []string
		for _, p := range players {
			won = append(won, strings.Fields(p.line(t))...)
		}
		slices.Sort(won)
		if all := slices.Sorted(slices.Values(many())); !slices.Equal(won, all) {
			t.Errorf("the processes have %q, want each of %q once", won, all)
		}
		for _, p := range players {
			p.kill(t)
		}
		if err := dir.Remove(ctx, many()...); err != nil {
			t.Fatal(err)
		}
		if files, err := os.ReadDir(dir.path); err != nil || unlinkLocked && len(files) > 0 {
			t.Errorf("left: %v, %v", files, err)
		}
	}
}
