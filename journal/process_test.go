package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/seed"
)

var killRounds = flag.Int("kill.rounds", 10, "how often TestA19_KillNine kills a writer")

// roleVar makes the test binary play another process, and seedVar is the seed of its random
// numbers.
const (
	roleVar = "JOURNAL_TEST_ROLE"
	seedVar = "JOURNAL_TEST_SEED"
)

func TestMain(m *testing.M) {
	roles := map[string]func(dir *Dir) error{"append": appendForever, "hold": hold, "contend": contend, "idle": idle,
		"hold many": holdMany, "claim many": claimMany}
	role, ok := roles[os.Getenv(roleVar)]
	if !ok {
		seed.Fix() // for journaltest
		goleak.VerifyTestMain(m)
		return
	}
	if err := role(NewDir(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// player holds another process that plays a role.
type player struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	gone bool // it has been waited for
}

func play(t *testing.T, role string, dir *Dir, seed uint64) *player {
	t.Helper()
	p := &player{cmd: command(role, dir.path)}
	p.cmd.Env = append(p.cmd.Env, seedVar+"="+strconv.FormatUint(seed, 10))
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.gone {
			p.kill(t)
		}
	})
	return p
}

func command(role, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return cmd
}

// dice returns the random numbers of a process that plays a role.
func dice() (*rand.Rand, error) {
	seed, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64)
	return rand.New(rand.NewPCG(seed, 0)), err
}

// line returns the next line that the process prints.
func (p *player) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process has ended: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// kill ends the process with SIGKILL. Its output can still be read.
func (p *player) kill(t *testing.T) string {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(p.out)
	if err != nil {
		t.Error(err)
	}
	p.gone = true
	if err := p.cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	return string(rest)
}

// batchData is the body of a record. It holds the record's batch and the size of that.
type batchData struct {
	At, Of int
	Fill   string
}

// appendForever appends batches, syncs, and prints how many records are safe.
func appendForever(dir *Dir) error {
	ctx := context.Background()
	f, err := dir.Open(ctx, "s")
	if errors.Is(err, fs.ErrNotExist) {
		f, err = dir.Create(ctx, "s")
	}
	if err != nil {
		return err
	}
	dice, err := dice()
	if err != nil {
		return err
	}
	for {
		batch := make([]Record, 1+dice.IntN(4))
		for i := range batch {
			fill := dice.IntN(300)
			if dice.IntN(10) == 0 { // many pages, so that a kill can come between them
				fill = dice.IntN(100_000)
			}
			data, err := json.Marshal(batchData{i, len(batch), strings.Repeat("x", fill)})
			if err != nil {
				return err
			}
			batch[i] = Record{Time: time.Now(), Kind: "x", Data: data}
		}
		if err := errors.Join(f.Append(ctx, f.Len()+1, batch...), f.Sync(ctx)); err != nil {
			return err
		}
		fmt.Println(f.Len())
	}
}

// Whenever a writer is killed, the records that it reported as synced are there, and only complete
// batches.
func TestA19_KillNine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	dice, torn := seed.New(t), 0
	for round := range *killRounds {
		p := play(t, "append", dir, dice.Uint64())
		said := ""
		for range 1 + dice.IntN(20) {
			said = p.line(t)
		}
		if rest := strings.Fields(p.kill(t)); len(rest) > 0 {
			said = rest[len(rest)-1]
		}
		safe, err := strconv.ParseInt(said, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(dir.file("s", linesExt))
		if err != nil {
			t.Fatal(err)
		}
		f, err := dir.Open(ctx, "s")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if f.Len() < safe {
			t.Errorf("round %d: %d records, %d were synced", round, f.Len(), safe)
		}
		if f.(*fileLog).good.size < before.Size() {
			torn++
		}
		checkBatches(t, f)
		closed(t, f)
		if round%5 == 4 { // so that it does not grow for ever
			if err := dir.Remove(ctx, "s"); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d kills, %d of them left a torn end", *killRounds, torn)
}

func checkBatches(t *testing.T, f Log) {
	t.Helper()
	var last batchData
	for r, err := range f.Records(context.Background(), 1) {
		var d batchData
		if err = errors.Join(err, json.Unmarshal(r.Data, &d)); err != nil {
			t.Fatal(err)
		}
		if last.At+1 < last.Of && (d.At != last.At+1 || d.Of != last.Of) || last.At+1 == last.Of && d.At != 0 {
			t.Fatalf("record %d is %d of %d, after %d of %d", r.N, d.At, d.Of, last.At, last.Of)
		}
		last = d
	}
	if last.At+1 < last.Of {
		t.Errorf("the last batch has %d records of %d", last.At+1, last.Of)
	}
}

// hold keeps the journal open while a command runs.
func hold(dir *Dir) error {
	f, err := dir.Create(context.Background(), "s")
	if err != nil {
		return err
	}
	if err := f.Append(context.Background(), 1, Record{Kind: "held"}); err != nil {
		return err
	}
	cmd := command("idle", dir.path)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait()
}

// idle waits for the end of its input.
func idle(*Dir) error {
	fmt.Println("idle")
	_, err := io.Copy(io.Discard, os.Stdin)
	fmt.Println("woken")
	return err
}

// A second writer learns the process id of the first. The lock ends with the process, even if its
// commands still run.
func TestA19_OneWriterOfManyProcesses(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	p := play(t, "hold", dir, 0)
	if said := p.line(t); said != "idle" {
		t.Fatalf("the holder says %q", said)
	}
	pid := p.cmd.Process.Pid
	want := fmt.Sprintf("journal: session s is being written by process %d", pid)
	for _, err := range []error{ignore(dir.Open(ctx, "s")), ignore(dir.Create(ctx, "s")), dir.Remove(ctx, "s")} {
		if !errors.Is(err, ErrLocked) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if list, err := dir.List(ctx); err != nil || len(list) != 1 || !list[0].Locked || list[0].PID != pid {
		t.Errorf("List = %+v, %v, want s locked by %d", list, err, pid)
	}
	if got := kindsOf(t, readOf(t, dir, "s").Records(ctx, 1)); !slices.Equal(got, []string{"held"}) {
		t.Errorf("Read has %q", got)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.gone = true
	if _, err := p.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if list, err := dir.List(ctx); err != nil || len(list) != 1 || list[0].Locked || list[0].PID != 0 {
		t.Errorf("after the kill List = %+v, %v, want s free", list, err)
	}
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatalf("the lock has outlived its process: %v", err)
	}
	closed(t, f)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if said := p.line(t); said != "woken" {
		t.Errorf("the command says %q; it was to run all the time", said)
	}
}

// contendRounds holds the number of times that each process opens, appends and closes.
const contendRounds = 30

func contend(dir *Dir) error {
	ctx := context.Background()
	for i := 0; i < contendRounds; {
		f, err := dir.Open(ctx, "s")
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err != nil {
			return err
		}
		record := Record{Kind: fmt.Sprintf("%d/%d", os.Getpid(), i)}
		if err := errors.Join(f.Append(ctx, f.Len()+1, record), f.Close()); err != nil {
			return err
		}
		i++
	}
	fmt.Println("done")
	return nil
}

// Processes that open the same journal one after another, as fast as they can, lose no records.
func TestA19_ProcessesContend(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	closed(t, created(t, dir, "s"))
	players := []*player{play(t, "contend", dir, 0), play(t, "contend", dir, 0)}
	done := map[string]int{}
	for _, p := range players {
		if said := p.line(t); said != "done" {
			t.Fatalf("a process says %q", said)
		}
		p.gone = true
		if err := p.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range kindsOf(t, readOf(t, dir, "s").Records(ctx, 1)) {
		pid, n, _ := strings.Cut(kind, "/")
		if n != strconv.Itoa(done[pid]) {
			t.Fatalf("process %s has appended %s, want %d", pid, n, done[pid])
		}
		done[pid]++
	}
	for _, p := range players {
		if n := done[strconv.Itoa(p.cmd.Process.Pid)]; n != contendRounds {
			t.Errorf("process %d has %d records, want %d", p.cmd.Process.Pid, n, contendRounds)
		}
	}
}

// List takes locks for moments, which must not make Open fail.
func TestA19_ListingTurnsNobodyAway(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	closed(t, created(t, dir, "s"))
	if err := os.WriteFile(dir.file("s", lockExt), []byte("1\n"), 0o600); err != nil { // what a killed writer leaves
		t.Fatal(err)
	}
	probing, err := disk{}.open(dir.file("s", lockExt), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer probing.Close()
	if err := probing.lock(true); err != nil {
		t.Fatal(err)
	}
	opened := 0
	dir.sys = &watcher{dir.sys, func() {
		if opened++; opened == 2 { // the writer has met the lock, and tries again
			if err := probing.unlock(); err != nil {
				t.Error(err)
			}
		}
	}}
	f, err := dir.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, f)
}

// watcher is a system that reports when a lock file is opened.
type watcher struct {
	system
	opened func()
}

func (w *watcher) open(path string, flag int) (handle, error) {
	if strings.HasSuffix(path, lockExt) {
		w.opened()
	}
	return w.system.open(path, flag)
}
