package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// figures holds the output of program session.
type figures struct{ CPU, Wall, Bytes, Events, Early, Late, Memory, Descriptors, Sessions float64 }

// session returns a contestant that is program session. Its arguments may depend on the directory
// of the run.
func (b *bench) session(name string, args func(dir string) []string) (contestant, error) {
	path, err := b.program("session")
	return contestant{name: name, command: func(dir string) *exec.Cmd { return exec.Command(path, args(dir)...) }}, err
}

// figuresOf decodes what program session printed in its runs.
func figuresOf(s samples) ([]figures, error) {
	all := make([]figures, len(s))
	for i, c := range s {
		if err := json.Unmarshal(c.out, &all[i]); err != nil {
			return nil, fmt.Errorf("%w: %s", err, c.out)
		}
	}
	return all, nil
}

// figuresByName is figuresOf for several contestants.
func figuresByName(costs map[string]samples) (map[string][]figures, error) {
	by := map[string][]figures{}
	for name, s := range costs {
		all, err := figuresOf(s)
		if err != nil {
			return nil, err
		}
		by[name] = all
	}
	return by, nil
}

// round measures a round: in a session over loopback, by the processor time of its process, and of
// whole agents with a command.
func (b *bench) round() (result, error) {
	n := strconv.Itoa(b.sizes.round)
	long := func(path string, journal bool) func(string) []string {
		return func(dir string) []string {
			args := []string{"round", b.url + path + filepath.Base(dir) + "/" + n, n}
			if journal {
				args = append(args, dir)
			}
			return args
		}
	}
	var all []contestant
	for _, c := range []struct {
		name string
		args func(string) []string
	}{{"off", long("/noop/", false)}, {"disk", long("/noop/", true)}, {"talk", long("/talk/", true)}} {
		one, err := b.session(c.name, c.args)
		if err != nil {
			return result{}, err
		}
		all = append(all, one)
	}
	costs, err := b.interleave((b.sizes.runs+1)/2, all...)
	if err != nil {
		return result{}, err
	}
	by, err := figuresByName(costs)
	if err != nil {
		return result{}, err
	}
	off := figureOf(by["off"], func(f figures) float64 { return f.Wall / 1000 }, "ms")
	r := result{rows: []row{
		{id: "K3", what: "a round, journal off, CPU",
			ours: figureOf(by["off"], func(f figures) float64 { return f.CPU / 1000 }, "ms"), goal: 1.5},
		{id: "K3", what: "a round, journal on disk, CPU",
			ours: figureOf(by["disk"], func(f figures) float64 { return f.CPU / 1000 }, "ms"), goal: 1.5},
		{id: "K3", what: "a round, journal on disk, wall",
			ours:    figureOf(by["disk"], func(f figures) float64 { return f.Wall / 1000 }, "ms"),
			against: &off, of: "journal off", open: true},
		{id: "K8", what: "allocation of a round",
			ours: figureOf(by["disk"], func(f figures) float64 { return f.Bytes / 1000 }, "kB"), open: true},
		{id: "K8", what: "allocation of an event, in rounds with a text",
			ours: figureOf(by["talk"], func(f figures) float64 { return f.Bytes / f.Events / 1000 }, "kB"), goal: 2}}}
	agents, err := b.rounds()
	r.rows = append(r.rows, agents.rows...)
	r.sections = agents.sections
	return r, err
}

// rounds measures what a round with one command adds to the session of each agent.
func (b *bench) rounds() (result, error) {
	all, missing, err := b.agents()
	if err != nil {
		return result{}, err
	}
	few, many := 1, 1+b.sizes.rounds
	var contestants []contestant
	for _, a := range all {
		contestants = append(contestants, a.rounds(b, few, ""), a.rounds(b, many, ""))
	}
	costs, err := b.interleave(b.sizes.runs, contestants...)
	if err != nil {
		return result{}, err
	}
	added := func(name string, of func(cost) float64) figure {
		a, z := costs[fmt.Sprint(name, " ", few)], costs[fmt.Sprint(name, " ", many)]
		d := float64(many - few)
		last, first := figureOf(z, of, "ms"), figureOf(a, of, "ms")
		return figure{(last.median - first.median) / d, (last.least - first.least) / d, "ms"}
	}
	loop := added("a bare loop", cpuMS)
	r := result{rows: []row{{id: "K3", what: "a round of the command with one shell command, CPU",
		ours: added(ourName, cpuMS), against: &loop, of: "a bare loop", open: true}}}
	var rows [][]string
	for _, a := range all {
		if len(costs[fmt.Sprint(a.name, " ", many)]) == 0 || len(costs[fmt.Sprint(a.name, " ", few)]) == 0 {
			missing = append(missing, a.name+" (failed)")
			continue
		}
		cpu := added(a.name, cpuMS)
		rows = append(rows, []string{a.name, cpu.String(), number(cpu.least / loop.least),
			exact(added(a.name, wallMS).median, "ms").String()})
	}
	r.sections = []section{{"round", table([]string{"a round with one shell command", "CPU", "x bare loop",
		"wall (median)"}, rows) + notFound(missing)}}
	return r, nil
}
