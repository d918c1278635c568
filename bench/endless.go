package main

import (
	"fmt"
	"os/exec"
)

// endless measures how much memory the command has needed when it cuts off an answer that does not
// end.
func (b *bench) endless() (result, error) {
	attractor, err := b.program("attractor")
	if err != nil {
		return result{}, err
	}
	var r result
	for _, kind := range []struct{ path, what string }{{"small", "of three words"}, {"huge", "of a mebibyte"}} {
		var all []contestant
		for _, p := range []struct{ name, path, key string }{{"anthropic", "", "ANTHROPIC"},
			{"openai", "/v1", "OPENAI"}, {"gemini", "", "GEMINI"},
			{"openai-compatible", "/v1", "OPENAI_COMPATIBLE"}} {
			all = append(all, contestant{name: p.name, fails: true, memory: true, command: func(dir string) *exec.Cmd {
				cmd := exec.Command(attractor, "run", "--yes", "--dir", dir, "--provider", p.name, "--model", "m",
					"--base-url", b.url+"/endless/"+kind.path+p.path, "go")
				cmd.Env = append(environment(dir), p.key+"_API_KEY=k")
				return cmd
			}})
		}
		all = all[:b.sizes.endless]
		costs, err := b.interleave(max(1, b.sizes.runs/4), all...)
		if err != nil {
			return r, err
		}
		var worst row
		for _, c := range all {
			one := row{id: "K11", what: fmt.Sprintf("an endless answer, in deltas %s: peak memory (most: %s)",
				kind.what, c.name),
				ours: figureOf(costs[c.name], rssMB, "MiB"), goal: 256}
			if one.ours.least < 10 {
				return r, fmt.Errorf("%s took only %s: %s", c.name, one.ours, costs[c.name][0].out)
			}
			if worst.id == "" || one.ours.least > worst.ours.least {
				worst = one
			}
		}
		r.rows = append(r.rows, worst)
	}
	return r, nil
}
