package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// readings lists what is done with a long journal, with its goal as a multiple of decoding it once
// with encoding/json. Zero is none.
var readings = []struct {
	name string
	goal float64
}{{"resume", 3}, {"project", 3}, {"fork", 0}, {"show", 0}, {"replay", 0}}

// journals measures what is done with a journal of many rounds, and how it grows from a quarter of
// them.
func (b *bench) journals() (result, error) {
	rounds := []int{b.sizes.journal / 4, b.sizes.journal}
	var all []contestant
	for _, n := range rounds {
		some, err := b.readJournal(n)
		if err != nil {
			return result{}, err
		}
		all = append(all, some...)
	}
	costs, err := b.interleave((b.sizes.runs+1)/2, all...)
	if err != nil {
		return result{}, err
	}
	seconds := func(name string, n int) (figure, error) {
		s := costs[fmt.Sprint(name, " ", n)]
		if name == "show" { // the command, whose processor time includes its start
			return figureOf(s, func(c cost) float64 { return c.cpu.Seconds() }, "s"), nil
		}
		f, err := figuresOf(s)
		if err != nil {
			return figure{}, err
		}
		return figureOf(f, func(f figures) float64 { return f.CPU / 1e6 }, "s"), nil
	}
	pass, err := seconds("json", rounds[1])
	if err != nil {
		return result{}, err
	}
	var r result
	var worst row
	for _, x := range readings {
		short, err := seconds(x.name, rounds[0])
		if err != nil {
			return result{}, err
		}
		long, err := seconds(x.name, rounds[1])
		if err != nil {
			return result{}, err
		}
		r.rows = append(r.rows, row{id: "K5", what: fmt.Sprintf("%s %d rounds, CPU", x.name, rounds[1]), ours: long,
			against: &pass,
			of:      "decoding each line with encoding/json", goal: x.goal, open: x.goal == 0})
		growth := row{id: "K5", what: fmt.Sprintf("what grows most with the rounds: %s, CPU", x.name), ours: long,
			against: &short,
			of:      fmt.Sprintf("%d rounds", rounds[0]), goal: 4.4}
		if worst.against == nil || growth.ratio() > worst.ratio() {
			worst = growth
		}
	}
	r.rows = append(r.rows, worst)
	return r, nil
}

// readJournal writes a journal and returns the contestants that read it.
func (b *bench) readJournal(rounds int) ([]contestant, error) {
	session, err := b.program("session")
	if err != nil {
		return nil, err
	}
	attractor, err := b.program("attractor")
	if err != nil {
		return nil, err
	}
	state, err := b.write(rounds, 1)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "attractor", "sessions")
	all := []contestant{command(fmt.Sprint("json ", rounds), session, "json", dir)}
	for _, x := range readings {
		c := command(fmt.Sprint(x.name, " ", rounds), session, x.name, dir)
		if x.name == "show" {
			c.command = stateOf(state, attractor, "sessions", "show", "session-000000")
		}
		all = append(all, c)
	}
	return all, nil
}

// stateOf returns a command that finds its sessions in a directory.
func stateOf(state, path string, args ...string) func(string) *exec.Cmd {
	return func(home string) *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Env = append(environment(home), "XDG_STATE_HOME="+state)
		return cmd
	}
}

// write writes journals with so many rounds each and returns the state directory in which the
// command finds them.
func (b *bench) write(rounds, journals int) (state string, err error) {
	session, err := b.program("session")
	if err != nil {
		return "", err
	}
	state = filepath.Join(b.temp, fmt.Sprintf("state-%d-%d", rounds, journals))
	cmd := exec.CommandContext(b.ctx, session, "write", filepath.Join(state, "attractor", "sessions"),
		strconv.Itoa(rounds), strconv.Itoa(journals))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return state, nil
}

// list measures the list of many journals.
func (b *bench) list() (result, error) {
	attractor, err := b.program("attractor")
	if err != nil {
		return result{}, err
	}
	var all []contestant
	for _, rounds := range []int{1, b.sizes.long} {
		state, err := b.write(rounds, b.sizes.journals)
		if err != nil {
			return result{}, err
		}
		c := contestant{name: fmt.Sprintf("`sessions list`, %d journals of %d rounds, CPU", b.sizes.journals, rounds),
			command: stateOf(state, attractor, "sessions", "list")}
		all = append(all, c)
	}
	costs, err := b.interleave((b.sizes.runs+1)/2, all...)
	if err != nil {
		return result{}, err
	}
	var r result
	for _, c := range all {
		s := costs[c.name]
		if n := strings.Count(string(s[0].out), "\n"); n != b.sizes.journals+1 {
			return r, fmt.Errorf("%s printed %d lines", c.name, n)
		}
		r.rows = append(r.rows, row{id: "K6", what: c.name,
			ours: figureOf(s, func(c cost) float64 { return c.cpu.Seconds() }, "s"), goal: 0.2})
	}
	return r, nil
}
