package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure holds the median and the minimum of a measurement.
type figure struct {
	median, least float64
	unit          string
}

// figureOf returns the figure of a value that each sample has.
func figureOf[T any](samples []T, of func(T) float64, unit string) figure {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return figure{values[len(values)/2], values[0], unit}
}

func (f figure) String() string {
	if f.median == f.least {
		return strings.TrimSpace(number(f.median) + " " + f.unit)
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s) %s", number(f.median), number(f.least), f.unit))
}

// number returns a number with three significant digits.
func number(x float64) string {
	if math.Abs(x) >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.3g", x), ".")
}

// cells returns the row of the table, under an id. The minima decide whether the goal was met.
func (r row) cells(id string, m metrics) ([]string, error) {
	name, what, scale := r.name, r.what, cmp.Or(r.scale, 1)
	if r.most {
		name = m.most(r.name, r.unit)
		what += fmt.Sprintf(" (most: %s)", path.Base(strings.TrimSuffix(name, r.name)))
	}
	ours, err := m.figure(name, r.unit, scale, r.as)
	if err != nil {
		return nil, err
	}
	cells := []string{id, what, ours.String(), "", "", "", ""}
	least, bound := ours.least, number(r.goal)+" "+r.as
	if r.of != "" {
		beside, ratio := figure{}, 0.0
		if r.against != "" {
			beside, err = m.figure(r.against, r.unit, scale, r.as)
			ratio = ours.least / beside.least
			cells[3] = r.of + ": " + beside.String()
		} else {
			beside, err = m.figure(name, r.times, 1, "")
			ratio = beside.least
			cells[3] = r.of
		}
		if err != nil {
			return nil, err
		}
		cells[4] = number(ratio)
		if !r.limit {
			least, bound = ratio, number(r.goal)+" x"
		}
	}
	if r.goal != 0 {
		cells[5], cells[6] = "≤ "+strings.TrimSpace(bound), "not met"
		if least <= r.goal {
			cells[6] = "met"
		}
	}
	return cells, nil
}

// section is a table of its own, which a page may have between markers of its name.
type section struct{ name, text string }

// table returns a table in Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(head)))
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// report holds the measurements of a run.
type report struct {
	machine  string
	rows     [][]string
	sections []section
	failed   []string
}

// all returns the tables, the first with all rows.
func (r *report) all() []section {
	sections := []section{{"machine", r.machine + "\n"}}
	if len(r.rows) > 0 {
		head := []string{"", "", "here", "beside", "ratio", "goal", ""}
		sections = append(sections, section{"goals", table(head, r.rows)})
	}
	return append(sections, r.sections...)
}

// print writes the report. It returns an error if something could not be measured.
func (r *report) print(w io.Writer) error {
	for _, s := range r.all() {
		fmt.Fprintf(w, "\n## %s\n\n%s", s.name, s.text)
	}
	if len(r.failed) > 0 {
		return errors.New("not measured:\n" + strings.Join(r.failed, "\n"))
	}
	return nil
}

// rewrite replaces the tables between the markers of a file. Tables that this run has not measured
// stay.
func (r *report) rewrite(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(data)
	for _, s := range r.all() {
		begin, end := "<!-- bench:begin "+s.name+" -->\n", "<!-- bench:end -->"
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, end)
		if found && ended {
			text = before + begin + "\n" + s.text + "\n" + end + after
		}
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// machine describes the machine and how it was measured.
func (b *bench) machine() string {
	return fmt.Sprintf("Measured on %s with %s on %s/%s, %d cores%s. Agents ran in turns, %d times, slow ones less "+
		"often; benchmarks %d times. A figure is the median, with the minimum in parentheses, and ratios are those of "+
		"the minima, because noise only adds. Processor time is that of a process and all that it waited for.",
		time.Now().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		processor(), b.runs, b.times)
}

// processor returns the name of the processor where the system tells it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(string(data), "model name")
	name, _, _ = strings.Cut(strings.TrimLeft(name, "\t: "), "\n")
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}
