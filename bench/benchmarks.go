package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// metrics holds what the runs of each benchmark reported, by its name and the unit.
type metrics map[string]map[string][]float64

// benchmarks runs the benchmarks of a subject a number of times, all of them before the next time,
// and returns what they reported.
func (b *bench) benchmarks(s subject) (metrics, error) {
	dir := filepath.Join(filepath.Dir(b.module), s.dir)
	binary := filepath.Join(b.temp, strings.ReplaceAll(s.dir, "/", "_")+".test")
	if _, err := os.Stat(binary); err != nil {
		if err := b.run(dir, "go", "test", "-c", "-o", binary, "."); err != nil {
			return nil, err
		}
	}
	args := []string{"-test.run", "^$", "-test.bench", s.pattern, "-test.benchtime", b.benchtime}
	if !b.quick {
		args = append(args, s.whole...)
	}
	all := metrics{}
	for range b.times {
		cmd := exec.CommandContext(b.ctx, binary, args...)
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
		name := strings.TrimSuffix(strings.TrimPrefix(fields[0], "Benchmark"), fmt.Sprint("-", runtime.GOMAXPROCS(0)))
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

// figure returns the figure of a metric, divided by scale.
func (m metrics) figure(name, unit string, scale float64, as string) (figure, error) {
	if len(m[name][unit]) == 0 {
		return figure{}, fmt.Errorf("no benchmark %s reports %s; there are %s", name, unit,
			strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	}
	return figureOf(m[name][unit], func(x float64) float64 { return x / scale }, as), nil
}

// most returns the name of the benchmark with the highest figure among those whose names have a
// suffix.
func (m metrics) most(suffix, unit string) (name string) {
	highest := 0.0
	for _, candidate := range slices.Sorted(maps.Keys(m)) {
		values := m[candidate][unit]
		if strings.HasSuffix(candidate, suffix) && len(values) > 0 && slices.Min(values) > highest {
			name, highest = candidate, slices.Min(values)
		}
	}
	return name
}
