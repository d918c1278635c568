package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// metrics holds what the runs of each benchmark reported, by its name and the unit.
type metrics map[string]map[string][]float64

// benchmarks runs benchmarks of a package a number of times, all of them before the next time, and
// returns what they reported.
func (b *bench) benchmarks(dir, pattern string, times int) (metrics, error) {
	dir = filepath.Join(filepath.Dir(b.module), dir)
	binary := filepath.Join(b.temp, "bin", strings.ReplaceAll(dir, "/", "_")+".test")
	build := exec.CommandContext(b.ctx, "go", "test", "-c", "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	all := metrics{}
	for range times {
		cmd := exec.CommandContext(b.ctx, binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime",
			b.sizes.benchtime)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, tail(out))
		}
		all.add(string(out))
	}
	return all, nil
}

// add adds the lines that begin with Benchmark: a name, a number of iterations, and pairs of a
// value and its unit.
func (m metrics) add(out string) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), fmt.Sprint("-", runtime.GOMAXPROCS(0)))
		if m[name] == nil {
			m[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if x, err := strconv.ParseFloat(fields[i], 64); err == nil {
				m[name][fields[i+1]] = append(m[name][fields[i+1]], x)
			}
		}
	}
}

// figure returns the figure of a metric, in units of so much.
func (m metrics) figure(name, unit string, scale float64, as string) (figure, error) {
	values := slices.Sorted(slices.Values(m[name][unit]))
	if len(values) == 0 {
		return figure{}, fmt.Errorf("no benchmark %s reports %s; there are %s", name, unit,
			strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	}
	return figure{values[len(values)/2] / scale, values[0] / scale, as}, nil
}
