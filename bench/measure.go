package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cost holds what a process and its descendants used.
type cost struct {
	cpu, wall time.Duration
	rss       int64 // the maximum of the largest process, in bytes; only of contestants for memory
	out       []byte
}

// contestant is a program that takes part in a comparison.
type contestant struct {
	name string
	// command returns the command of one run. Each run gets an empty directory of its own.
	command func(dir string) *exec.Cmd
	// every counts the rounds from one run to the next: more than 1 for slow contestants.
	every int
	// fails says that the command is expected to fail.
	fails bool
	// memory measures the memory instead of the time, which then includes that of the program that
	// does.
	memory bool
	// quiet discards the output.
	quiet bool
	// check looks after each run whether it did what it should; nil means it did.
	check func() error
	// optional contestants that fail are left out of the report, which says so.
	optional bool
}

// samples holds the costs of all runs of a contestant.
type samples []cost

// interleave runs all contestants in turns, n times each, and returns their costs by name.
func (b *bench) interleave(n int, all ...contestant) (map[string]samples, error) {
	costs := map[string]samples{}
	for i := range n {
		for _, c := range all {
			if c.every > 1 && i%c.every != 0 {
				continue
			}
			if b.left[c.name] != nil {
				continue
			}
			if err := b.ctx.Err(); err != nil {
				return nil, err
			}
			one, err := b.once(c)
			if err != nil && c.optional {
				b.left[c.name] = err
				fmt.Fprintf(os.Stderr, "%s is left out: %v\n", c.name, err)
				delete(costs, c.name)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			costs[c.name] = append(costs[c.name], one)
		}
	}
	return costs, nil
}

// once runs a contestant once, in a new directory.
func (b *bench) once(c contestant) (cost, error) {
	dir, err := os.MkdirTemp(b.temp, "run-")
	if err != nil {
		return cost{}, err
	}
	defer os.RemoveAll(dir)
	cmd := c.command(dir)
	if cmd.Dir == "" {
		cmd.Dir = dir
	}
	if cmd.Env == nil {
		cmd.Env = environment(dir)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Stdout = &stdout
	if c.quiet { // by a pipe: programs do less for /dev/null
		cmd.Stdout = struct{ io.Writer }{io.Discard}
	}
	if c.memory {
		if err := b.underPeak(cmd); err != nil {
			return cost{}, err
		}
	}
	began := time.Now()
	one, err := b.meter.run(cmd)
	one.wall, one.out = time.Since(began), stdout.Bytes()
	if c.memory {
		one.rss = b.peak()
	}
	if err != nil && !c.fails {
		return one, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, tail(stdout.Bytes()),
			tail(stderr.Bytes()))
	}
	if c.check != nil {
		if err := c.check(); err != nil {
			return one, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
	}
	return one, nil
}

// byRusage says how processes are measured without cgroups.
const byRusage = "rusage: without processes that nobody waited for"

// rusage runs a command and returns what the system has counted for it and the processes that it
// waited for.
func rusage(cmd *exec.Cmd) (c cost, err error) {
	err = cmd.Run()
	if cmd.ProcessState != nil {
		c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return c, err
}

// underPeak makes a command run under program peak.
func (b *bench) underPeak(cmd *exec.Cmd) error {
	path, err := b.program("peak")
	if err != nil {
		return err
	}
	cmd.Args = append([]string{path, filepath.Join(b.temp, "peak"), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = path
	return nil
}

// peak returns what program peak has written, and removes it.
func (b *bench) peak() (bytes int64) {
	name := filepath.Join(b.temp, "peak")
	data, err := os.ReadFile(name)
	if err == nil {
		bytes, err = strconv.ParseInt(string(data), 10, 64)
	}
	if err != nil || os.Remove(name) != nil {
		return 0 // which no row takes for a figure
	}
	return bytes
}

// memories returns contestants that measure the memory of these.
func memories(all []contestant) []contestant {
	those := make([]contestant, len(all))
	for i, c := range all {
		c.memory = true
		those[i] = c
	}
	return those
}

// environment returns the variables of a contestant: a home of its own, a key that opens nothing,
// and no calls to anybody.
func environment(home string) []string {
	return []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"ANTHROPIC_API_KEY=k"}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// cpuMS and wallMS return times in milliseconds, rssMB a size in MiB.
func cpuMS(c cost) float64  { return float64(c.cpu.Microseconds()) / 1000 }
func wallMS(c cost) float64 { return float64(c.wall.Microseconds()) / 1000 }
func rssMB(c cost) float64  { return float64(c.rss) / (1 << 20) }
