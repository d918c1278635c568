package soak

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/orphans"
)

// Config says what a soak runs.
type Config struct {
	For  time.Duration // how long the run begins new trials; it has at least some
	Seed uint64
	// Open starts or resumes a session.
	Open Open
	// Calls lists the tools that the models call.
	Calls []Call
	// KillAny kills processes of all trials, also those that hold the others together. Otherwise a
	// trial kills only what runs in its directory.
	KillAny bool
	// Secret, if set, must not be in any request.
	Secret string
	// Check, if set, checks the directory of a trial at its end, with its journals.
	Check func(dir string) error
}

// tally counts what has happened.
type tally struct {
	trials, lives, replays, crashes, kills, hostFaults, processes atomic.Int64
}

const (
	workers        = 4
	leastTrials    = workers // after the warm-up
	leastProcesses = 1       // that are killed
	// bytes by which RSS may grow after the warm-up; a leak of a session each time would exceed it
	mostGrown = 192 << 20
	childVar  = "ATTRACTOR_SOAK_CHILD"
)

// Run runs trials until the time is over, and fails the test if one ended in a way that is not
// allowed or if anything is left. Each process of tests that calls Run must call Child at the
// beginning of TestMain.
func Run(t *testing.T, c Config) {
	if end, ok := t.Deadline(); ok && time.Until(end) < c.For+hang {
		t.Fatalf("the soak needs more time: pass -timeout %v", (c.For + 2*hang).Round(time.Minute))
	}
	base := t.TempDir()
	for variable, dir := range map[string]string{
		"TMPDIR": "tmp", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, filepath.Join(base, dir))
	}
	m := &models{seed: c.Seed, calls: c.Calls, secret: []byte(c.Secret)}
	web := httptest.NewServer(m)
	defer web.Close()
	r := &run{TB: t, Config: c, base: base, models: m, web: web,
		dirs: []string{filepath.Join(base, "tmp"), filepath.Join(base, "run"), filepath.Join(base, "trials")}}
	r.state = state{open: c.Open, check: c.Check, killAny: c.KillAny, seed: c.Seed, url: web.URL,
		children: &sync.Mutex{}, event: func() { r.events.Add(1) }}
	var warm sync.WaitGroup
	for range workers { // so that before includes what a process keeps for all its sessions
		warm.Go(r.trial)
	}
	warm.Wait()
	before := r.rest(nil)
	began := time.Now()
	stop := r.report(began)
	r.until(began.Add(c.For))
	stop()
	after := r.rest(before)
	fmt.Fprintf(os.Stderr, "soak: before %v\nsoak: after  %v\nsoak: %v of %v, seed %d: %s\n", before, after, t.Name(),
		time.Since(began).Round(time.Second), c.Seed, r.summary())
	if n := m.leaks.Load(); n > 0 {
		t.Errorf("%d requests had the secret", n)
	}
	if more := after.more(before); len(more) > 0 {
		t.Errorf("left behind: %s\n%s", strings.Join(more, "; "), r.left())
	}
	if after[rss] > before[rss]+mostGrown {
		t.Errorf("the process has grown from %d to %d MiB", before[rss]>>20, after[rss]>>20)
	}
}

// run is the state of Run.
type run struct {
	testing.TB
	Config
	state
	base   string
	models *models
	web    *httptest.Server
	dirs   []string // in which nothing may be left
	events atomic.Int64
}

// until runs trials until the end, several at once, and in any case leastTrials trials and
// leastProcesses processes, so that a run without a time does the same things.
func (r *run) until(end time.Time) {
	var all sync.WaitGroup
	var begun atomic.Int64
	more := func(n, least int64) bool { return (n <= least || time.Now().Before(end)) && !r.Failed() }
	for range workers {
		all.Go(func() {
			for more(begun.Add(1), leastTrials) {
				r.trial()
			}
		})
	}
	all.Go(func() {
		for n := 0; more(int64(n+1), leastProcesses); n++ {
			if err := r.killed(n); err != nil {
				r.Errorf("process %d: %v", n, err)
			}
		}
	})
	all.Wait()
}

// trial runs the next trial.
func (r *run) trial() {
	name := fmt.Sprintf("trial-%d", r.trials.Add(1))
	t := &trial{&r.state, name, filepath.Join(r.base, "trials", name)}
	if err := t.whole(context.Background()); err != nil {
		r.Errorf("%s, seed %d: %v", name, r.Seed, err)
	}
	r.models.drop(name)
}

// killed starts a process that runs trials, kills it after some events, and finishes its trials.
func (r *run) killed(n int) (err error) {
	dir := filepath.Join(r.base, "trials", fmt.Sprint("process-", n))
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"),
		childVar+"="+strings.Join([]string{dir, r.web.URL, strconv.FormatUint(r.Seed, 10), strconv.Itoa(n)}, "\t"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.children.Lock() // so that nobody kills it before it is noted
	err = cmd.Start()
	if err == nil {
		r.child = cmd.Process.Pid
	}
	r.children.Unlock()
	if err != nil {
		return err
	}
	events := (&models{seed: r.Seed}).dice("process", "kill", n).IntN(400)
	read := bufio.NewReader(out)
	for range events {
		if _, err := read.ReadByte(); err != nil {
			return fmt.Errorf("it ended by itself: %w", cmd.Wait())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	r.processes.Add(1)
	return r.finishTrials(dir)
}

// finishTrials finishes the trials that a killed process has left.
func (r *run) finishTrials(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "tmp" {
			continue
		}
		t := &trial{&r.state, e.Name(), filepath.Join(dir, e.Name())}
		// the process may have been killed before it made the directory, or while it removed it
		if err := os.MkdirAll(filepath.Join(t.dir, "work"), 0o700); err != nil {
			return err
		}
		if err := t.finish(context.Background()); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		r.models.drop(t.name)
	}
	return nil
}

// Child runs trials for ever if Run has started this process to kill it. Otherwise it returns at
// once.
func Child(open Open) {
	args := strings.Split(os.Getenv(childVar), "\t")
	if len(args) != 4 {
		return
	}
	os.Unsetenv(childVar) // commands of the sessions must not take it for theirs
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		panic(err)
	}
	var out sync.Mutex
	s := &state{open: open, seed: seed, url: args[1], children: &sync.Mutex{},
		event: func() {
			out.Lock()
			defer out.Unlock()
			_, _ = os.Stdout.Write([]byte{'.'}) // fails if the parent has read enough, and then it kills this process
		}}
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("process-%s-%d-%d", args[3], i, n)
				if err := (&trial{s, name, filepath.Join(args[0], name)}).whole(context.Background()); err != nil {
					fmt.Fprintf(os.Stderr, "soak: %s, seed %d: %v\n", name, seed, err)
					os.Exit(3)
				}
			}
		})
	}
	all.Wait()
}

// rest waits until no figure is higher than before, at most half a minute, and returns the figures.
func (r *run) rest(before Figures) Figures {
	r.web.CloseClientConnections()
	for end := time.Now().Add(30 * time.Second); ; {
		orphans.Reap()
		f := measure(r.dirs...)
		if before == nil || len(f.more(before)) == 0 || time.Now().After(end) {
			return f
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// report prints the figures each minute until stop is called.
func (r *run) report(began time.Time) (stop func()) {
	quit := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				fmt.Fprintf(os.Stderr, "soak: %v: %v; %s\n", time.Since(began).Round(time.Second), count(r.dirs...),
					r.summary())
			}
		}
	})
	return func() {
		close(quit)
		printing.Wait()
	}
}

// summary says what has happened.
func (r *run) summary() string {
	return fmt.Sprintf("%d trials, %d lives, %d events, %d journals replayed, %d provider faults, "+
		"%d faults of journals and hooks, %d crashed sessions, %d killed commands, %d killed processes",
		r.trials.Load(), r.lives.Load(), r.events.Load(), r.replays.Load(), r.models.faults.Load(), r.hostFaults.Load(),
		r.crashes.Load(), r.kills.Load(), r.processes.Load())
}

// left lists what is left.
func (r *run) left() string {
	all := filesIn(r.dirs)
	for _, pid := range orphans.Below() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		all = append(all, fmt.Sprintf("%d %q", pid, line))
	}
	return strings.Join(all[:min(len(all), 50)], "\n")
}
