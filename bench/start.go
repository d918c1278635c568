package main

import (
	"os/exec"
	"strings"
)

// start measures commands that do almost nothing.
func (b *bench) start() (result, error) {
	ours, err := b.program("attractor")
	if err != nil {
		return result{}, err
	}
	empty, err := b.program("empty")
	if err != nil {
		return result{}, err
	}
	all := []contestant{command("empty", empty)}
	for _, args := range []string{"version", "--help", "completion bash", "completion zsh", "completion fish"} {
		all = append(all, command(args, ours, strings.Fields(args)...))
	}
	costs, err := b.interleave(2*b.sizes.runs+1, all...)
	if err != nil {
		return result{}, err
	}
	var r result
	for _, c := range all[1:] {
		against := figureOf(costs["empty"], cpuMS, "ms")
		r.rows = append(r.rows, row{id: "K1", what: "`attractor " + c.name + "`, CPU", ours: figureOf(costs[c.name],
			cpuMS, "ms"),
			against: &against, of: "an empty program with net/http", goal: 1.5})
	}
	return r, nil
}

// command returns a contestant that is a program with fixed arguments.
func command(name, path string, args ...string) contestant {
	return contestant{name: name, command: func(string) *exec.Cmd { return exec.Command(path, args...) }}
}
