package checkpoint

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

var killRounds = flag.Int("kill.rounds", 4, "how often a process that writes to a store is killed")

const (
	workerTask      = "ATTRACTOR_TEST_STORE_TASK"
	workerDir       = "ATTRACTOR_TEST_STORE_DIR"
	workerWorkspace = "/work"
)

// worker is a process that uses a store.
type worker struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin io.Closer
}

func startWorker(t *testing.T, dir, task string, seed uint64) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoreWorker$")
	cmd.Env = append(os.Environ(), workerTask+"="+task, workerDir+"="+dir, "RAPID_SEED="+strconv.FormatUint(seed, 10))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd, bufio.NewScanner(out), stdin}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

func (w *worker) line(t *testing.T) string {
	t.Helper()
	if !w.lines.Scan() {
		t.Fatalf("the worker has ended: %v", w.lines.Err())
	}
	return w.lines.Text()
}

// kill kills the process and returns the lines that it had still printed.
func (w *worker) kill(t *testing.T) (rest []string) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for w.lines.Scan() {
		rest = append(rest, w.lines.Text())
	}
	if err := w.cmd.Wait(); err == nil {
		t.Error("the worker has ended by itself")
	}
	return rest
}

// TestStoreWorker is what the processes run that other tests start.
func TestStoreWorker(t *testing.T) {
	task := os.Getenv(workerTask)
	if task == "" {
		t.Skip("only for the processes of other tests")
	}
	d := openDir(t, os.Getenv(workerDir), DirOptions{})
	switch task {
	case "use":
		if _, err := d.Use(t.Context(), workerWorkspace, "worker"); err != nil {
			t.Fatal(err)
		}
		fmt.Println("uses")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent kills this process or ends
	case "write":
		dice := seed.New(t)
		for i := 0; i < 100_000; i++ {
			fmt.Println(writeSome(t, d, dice, i))
		}
	}
}

// writeSome commits a tree, also collects now and then, and returns the root.
func writeSome(t *testing.T, d *Dir, dice *rand.Rand, i int) env.Hash {
	owner := fmt.Sprint("p", os.Getpid(), "-", i%5)
	if i%5 == 4 {
		if err := d.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var contents []string
	for range 10 {
		contents = append(contents, strings.Repeat(fmt.Sprintln(dice.Uint64()), dice.IntN(500)))
	}
	if i%5 == 3 {
		contents = append(contents, noise(byte(i), smallObject+1+i%7))
	}
	b := begin(t, d)
	root, _ := tree(t, b, contents...)
	commit(t, b, owner, root)
	return root
}

func TestO3_KilledWritersLoseNothing(t *testing.T) {
	path := t.TempDir()
	var committed []env.Hash
	dice := seed.New(t)
	for round := range *killRounds {
		workers := []*worker{startWorker(t, path, "write", dice.Uint64()), startWorker(t, path, "write", dice.Uint64())}
		for range 2 + round%3 { // so that kills come in different batches
			for _, w := range workers {
				committed = append(committed, env.Hash(w.line(t)))
			}
		}
		for _, w := range workers {
			for _, root := range w.kill(t) {
				if _, ok := digestOf(env.Hash(root)); ok { // the last line may be torn
					committed = append(committed, env.Hash(root))
				}
			}
		}
		d := openDir(t, path, DirOptions{})
		if round%2 == 1 {
			collect(t, d)
		}
		wholeTrees(t, d, committed[len(committed)/2:])
		b := begin(t, d)
		commit(t, b, "parent", put(t, b, fmt.Sprint("after round ", round)))
	}
	wholeTrees(t, openDir(t, path, DirOptions{}), committed)
}

// wholeTrees fails if an object of a tree is missing or damaged.
func wholeTrees(t *testing.T, d *Dir, roots []env.Hash) {
	t.Helper()
	for _, root := range roots {
		err := Walk(t.Context(), d, root, func(path string, e Entry) error {
			if e.Mode.IsDir() {
				return nil
			}
			data, err := load(context.Background(), d, e.Object)
			if err == nil && (int64(len(data)) != e.Size || env.HashOf(data) != e.Object) {
				err = fmt.Errorf("%s has another content", path)
			}
			return err
		})
		if err != nil {
			t.Fatalf("tree %s of %d: %v", root, len(roots), err)
		}
	}
}
