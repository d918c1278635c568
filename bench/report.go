package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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

// exact returns the figure of a count.
func exact(n float64, unit string) figure { return figure{n, n, unit} }

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

// row is a figure of ours beside its goal.
type row struct {
	id, what string
	ours     figure
	// against is the yardstick, and of its name. Without one the goal is absolute.
	against *figure
	of      string
	goal    float64
	// atLeast says that the goal is a minimum.
	atLeast bool
	// open says that the row has no goal and is only reported.
	open bool
	// note replaces the figure of a row that could not be measured.
	note string
}

// ratio returns the figure as a multiple of the yardstick, by the minima.
func (r row) ratio() float64 { return r.ours.least / r.against.least }

func (r row) met() bool {
	if r.atLeast {
		return r.ours.least >= r.goal
	}
	if r.against != nil {
		return r.ratio() <= r.goal
	}
	return r.ours.least <= r.goal
}

// cells returns the row for a table.
func (r row) cells() []string {
	if r.note != "" {
		return []string{r.id, r.what, r.note, "", "", "", "not measured"}
	}
	cells := []string{r.id, r.what, r.ours.String(), "", "", "≤ " + strings.TrimSpace(number(r.goal)+" "+r.ours.unit),
		"not met"}
	if r.against != nil {
		cells[3], cells[4], cells[5] = r.of+": "+r.against.String(), number(r.ratio()), "≤ "+number(r.goal)+" x"
	}
	if r.atLeast {
		cells[5] = "≥ " + number(r.goal)
	}
	if r.met() {
		cells[6] = "met"
	}
	if r.open {
		cells[5], cells[6] = "", ""
	}
	return cells
}

// result holds the measurements of a part.
type result struct {
	rows     []row
	sections []section
}

// section is a table of its own, which the README may have between markers of its name.
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
	order    []string
	sections map[string]string
	failed   []string
}

func (r *report) add(one result) {
	for _, row := range one.rows {
		r.rows = append(r.rows, row.cells())
	}
	for _, s := range one.sections {
		r.order = append(r.order, s.name)
		r.sections[s.name] = s.text
	}
}

// goals returns the table of all rows.
func (r *report) goals() string {
	return table([]string{"", "", "here", "beside", "ratio", "goal", ""}, r.rows)
}

// print writes the report. It returns an error if a part has failed.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "# Measurements\n\n%s\n", r.machine)
	if len(r.rows) > 0 {
		fmt.Fprintf(w, "\n%s", r.goals())
	}
	for _, name := range r.order {
		fmt.Fprintf(w, "\n## %s\n\n%s", name, r.sections[name])
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
	all := map[string]string{"machine": r.machine + "\n"}
	if len(r.rows) > 0 {
		all["goals"] = r.goals()
	}
	for name, section := range r.sections {
		all[name] = section
	}
	for name, section := range all {
		begin, end := "<!-- bench:begin "+name+" -->\n", "<!-- bench:end -->"
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, end)
		if found && ended && section != "" {
			text = before + begin + "\n" + section + "\n" + end + after
		}
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// machine describes the machine and how it was measured.
func (b *bench) machine() string {
	often := times(b.sizes.runs)
	if b.sizes.trees != b.sizes.runs {
		often += ", searches " + times(b.sizes.trees)
	}
	return fmt.Sprintf("Measured on %s with %s on %s/%s, %d cores%s. Everything ran in turns, %s, slow contestants less often; "+
		"a figure is the median, with the minimum in parentheses, and ratios are those of the minima, because noise only adds. Processor time is that of "+
		"whole process trees (%s).", time.Now().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), processor(),
		often, b.meter.how())
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
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
