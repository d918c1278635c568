package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cost holds what a process and the processes that it waited for used: milliseconds, and the
// memory of the largest in MiB.
type cost map[string]float64

func (c cost) cpu() float64    { return c["cpu"] }
func (c cost) wall() float64   { return c["wall"] }
func (c cost) memory() float64 { return c["memory"] }

// sessions runs one session of an agent for each number of rounds, and returns their costs by that
// number.
func (b *bench) sessions(a agent, rounds ...int) (map[int]cost, error) {
	costs := map[int]cost{}
	for _, n := range rounds {
		one, err := b.session(a, n)
		if err != nil {
			return nil, fmt.Errorf("%s, %d rounds: %w", a.name, n, err)
		}
		costs[n] = one
	}
	return costs, nil
}

// session runs a session of an agent in an empty directory. All sessions of an agent have one home,
// as a user's have: in a new one an agent first makes its directories.
func (b *bench) session(a agent, rounds int) (cost, error) {
	measuring, err := b.program("cost")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.temp, "run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	home := filepath.Join(b.temp, "home of "+a.name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	run, file := filepath.Base(dir), filepath.Join(b.temp, "cost.json")
	cmd := a.task(home, dir, fmt.Sprintf("%s/%s/%s/%d", b.url, run, a.tool, rounds))
	if cmd.Env == nil {
		cmd.Env = environment(home)
	}
	cmd.Dir = dir
	cmd.Path, cmd.Args = measuring, append([]string{measuring, file, cmd.Path}, cmd.Args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, tail(out))
	}
	if n := b.models.count(run); n != rounds {
		return nil, fmt.Errorf("%d rounds instead of %d", n, rounds)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := cost{}
	return c, json.Unmarshal(data, &c)
}

// program builds a program of this module, or the command, and returns its path.
func (b *bench) program(name string) (string, error) {
	if path, ok := b.built[name]; ok {
		return path, nil
	}
	path, dir, pkg := filepath.Join(b.temp, name), b.module, "./programs/"+name
	if name == "attractor" {
		dir, pkg = filepath.Dir(b.module), "./cmd/attractor"
	}
	if err := b.run(dir, "go", "build", "-o", path, pkg); err != nil {
		return "", err
	}
	b.built[name] = path
	return path, nil
}

// run runs a command that prints nothing of interest.
func (b *bench) run(dir, name string, args ...string) error {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, tail(out))
	}
	return nil
}

func tail(b []byte) []byte { return bytes.TrimSpace(b[max(0, len(b)-2000):]) }
