package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/render"
)

// reportKeys holds the keys by which the tasks of a report can be grouped, besides label:NAME.
var reportKeys = map[string]func(fleet.Task, begunWith) string{
	"model":       func(_ fleet.Task, b begunWith) string { return b.Model },
	"provider":    func(_ fleet.Task, b begunWith) string { return b.Provider },
	"effort":      func(_ fleet.Task, b begunWith) string { return b.Effort },
	"profile":     func(_ fleet.Task, b begunWith) string { return b.Profile },
	"environment": func(t fleet.Task, _ begunWith) string { return t.Environment },
}

// report says how many tasks have passed, and what they have cost, grouped by keys.
type report struct {
	keys   []string
	groups []*group // the best first
}

// group sums up tasks.
type group struct {
	values []string // of the keys
	tasks  int      // that have ended
	others int      // that have not ended
	passed int
	usd    float64
	tokens int
	took   []time.Duration // of those that have ended
}

// checkKeys returns an error if tasks cannot be grouped by one of the keys.
func checkKeys(keys []string) error {
	for _, key := range keys {
		if name, is := strings.CutPrefix(key, "label:"); reportKeys[key] == nil && (!is || name == "") {
			return fmt.Errorf("--report: there is no %q; tasks can be grouped by model, provider, effort, profile, "+
				"environment and label:NAME", key)
		}
	}
	return nil
}

// newReport sums up tasks.
func newReport(keys []string, tasks []fleet.Task, ended map[string]resultLine) *report {
	r := &report{keys: keys}
	byName := map[string]*group{}
	begun := begunAs(tasks, ended)
	for _, t := range tasks {
		with := begun[asked(t)]
		if own := ended[t.ID].Agent; own != nil {
			with = *own
		}
		var values []string
		for _, key := range keys {
			values = append(values, cmp.Or(valueOf(t, with, key), "-"))
		}
		name := strings.Join(values, "\x00")
		g := byName[name]
		if g == nil {
			g = &group{values: values}
			byName[name], r.groups = g, append(r.groups, g)
		}
		if line, over := ended[t.ID]; over {
			g.add(t, line)
		} else {
			g.others++
		}
	}
	slices.SortStableFunc(r.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.rate(), a.rate()), slices.Compare(a.values, b.values))
	})
	return r
}

// asked returns what a task asks for. Empty fields are up to the flags, which are the same for all
// tasks.
func asked(t fleet.Task) begunWith {
	return begunWith{Profile: t.Agent.Profile, Provider: t.Agent.Provider, Model: t.Agent.Model, Effort: t.Agent.Effort}
}

// begunAs returns what sessions began with, by what their tasks asked for. So a task whose session
// has not begun is grouped with those that ask for the same, or, without any, by what it asks for.
func begunAs(tasks []fleet.Task, ended map[string]resultLine) map[begunWith]begunWith {
	as := map[begunWith]begunWith{}
	for _, t := range tasks {
		a := asked(t)
		if with := ended[t.ID].Agent; with != nil {
			as[a] = *with
		} else if _, known := as[a]; !known {
			as[a] = a
		}
	}
	return as
}

// valueOf returns the value of a key for a task whose session began with with.
func valueOf(t fleet.Task, with begunWith, key string) string {
	if name, is := strings.CutPrefix(key, "label:"); is {
		return t.Labels[name]
	}
	return reportKeys[key](t, with)
}

// add adds a task that has ended, with its result.
func (g *group) add(t fleet.Task, line resultLine) {
	g.tasks++
	if passed(t, line) {
		g.passed++
	}
	if !line.Started.IsZero() && !line.Ended.IsZero() {
		g.took = append(g.took, line.Ended.Sub(line.Started))
	}
	if r := line.Result; r != nil {
		g.usd += r.CostUSD
		g.tokens += r.Usage.Input + r.Usage.Output
	}
}

// passed reports whether a task has passed: by the verdict of its Eval, or, without one, by having
// been done.
func passed(t fleet.Task, line resultLine) bool {
	if t.Eval != nil {
		return line.Verdict != nil && line.Verdict.Passed
	}
	return line.Done
}

// rate returns the part of the tasks that have passed, or 0 if none has ended.
func (g *group) rate() float64 { return float64(g.passed) / float64(max(g.tasks, 1)) }

// interval returns the 95 % confidence interval of the rate, by Wilson's score.
func (g *group) interval() (low, high float64) {
	const z = 1.96
	n, p := float64(g.tasks), g.rate()
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (middle - half) / (1 + z*z/n), (middle + half) / (1 + z*z/n)
}

// median returns the median of the times.
func (g *group) median() time.Duration {
	if len(g.took) == 0 {
		return 0
	}
	took := slices.Sorted(slices.Values(g.took))
	return (took[(len(took)-1)/2] + took[len(took)/2]) / 2
}

// write writes the report as a table in Markdown.
func (r *report) write(w io.Writer) error {
	columns := append(slices.Clone(r.keys), "passed", "rate", "95 % between", "cost", "cost of a pass", "tokens",
		"median time")
	lines := [][]string{columns, slices.Repeat([]string{"---"}, len(columns))}
	for _, g := range r.groups {
		low, high := g.interval()
		pass := "-"
		if g.passed > 0 {
			pass = render.Money(g.usd / float64(g.passed))
		}
		count, rate := fmt.Sprintf("%d of %d", g.passed, g.tasks), percent(g.rate())
		bounds := percent(low) + " and " + percent(high)
		if g.tasks == 0 {
			rate, bounds = "-", "-"
		}
		if g.others > 0 {
			count += fmt.Sprintf(", %d unfinished", g.others)
		}
		lines = append(lines, append(slices.Clone(g.values), count, rate, bounds, render.Money(g.usd), pass,
			fmt.Sprint(g.tokens), spell(g.median())))
	}
	var text strings.Builder
	for _, cells := range lines {
		for i := range cells {
			cells[i] = strings.ReplaceAll(render.OneLine(cells[i]), "|", `\|`)
		}
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// percent returns a rate as a percentage.
func percent(rate float64) string { return fmt.Sprintf("%.1f %%", 100*rate) }
