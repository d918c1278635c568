package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
)

func (p *program) list() *cobra.Command {
	var states, labels []string
	var asJSON bool
	var want filter
	cmd := p.client(&cobra.Command{
		Use:   "list [flags] [id]...",
		Short: "List tasks and how they are",
		Long:  "List lists the tasks of the tenant, or those with the given ids, the oldest first.",
		Example: `  attractor-fleet list --state running,paused
  attractor-fleet list --label team=red --json | jq -r .id`,
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			if want, err = newFilter(args, states, labels); err != nil {
				return cli.Usage(cmd, err)
			}
			return nil
		},
	}, func(ctx context.Context, c *connection, _ []string) error { return p.listTasks(ctx, c, want, asJSON) })
	cmd.Flags().StringSliceVar(&states, "state", nil, "only tasks in these `states`, such as running,failed")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only tasks with this label, `name=value`; can be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each status as a line of JSON")
	return cmd
}

// filter says which tasks are listed.
type filter struct {
	ids    []string
	states []string
	labels map[string]string
}

// allStates are the states of tasks.
var allStates = []string{string(fleet.Queued), string(fleet.Running), string(fleet.Paused), string(fleet.Done),
	string(fleet.Failed), string(fleet.Canceled), string(fleet.Poisoned)}

func newFilter(ids, states, labels []string) (filter, error) {
	f := filter{ids: ids, states: states}
	for _, s := range states {
		if !slices.Contains(allStates, s) {
			return f, fmt.Errorf("--state: there is no state %q; the states are %s", s, strings.Join(allStates, ", "))
		}
	}
	var err error
	f.labels, err = parseLabels(labels)
	return f, err
}

// parseLabels reads labels of the form name=value.
func parseLabels(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	labels := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--label is name=value, not %q", text)
		}
		labels[name] = value
	}
	return labels, nil
}

// has reports whether a task is listed.
func (f filter) has(s fleet.Status) bool {
	for name, value := range f.labels {
		if s.Labels[name] != value {
			return false
		}
	}
	return (len(f.ids) == 0 || slices.Contains(f.ids, s.ID)) &&
		(len(f.states) == 0 || slices.Contains(f.states, string(s.State)))
}

// listTasks prints the tasks.
func (p *program) listTasks(ctx context.Context, c *connection, want filter, asJSON bool) error {
	var found []fleet.Status
	for s, err := range c.space.Tasks.List(ctx) {
		if err != nil {
			return cli.Fail(cli.ExitFailed, "%w", err)
		}
		if want.has(s) {
			found = append(found, s)
		}
	}
	for _, id := range want.ids {
		if len(want.states)+len(want.labels) == 0 &&
			!slices.ContainsFunc(found, func(s fleet.Status) bool { return s.ID == id }) {
			return cli.Fail(cli.ExitUsage, "there is no task %q", id)
		}
	}
	slices.SortFunc(found, func(x, y fleet.Status) int {
		return cmp.Or(x.Submitted.Compare(y.Submitted), strings.Compare(x.ID, y.ID))
	})
	name := 0
	for _, s := range found {
		name = max(name, len(s.ID))
	}
	for _, s := range found {
		err := p.print(asJSON, s, "%-*s  %-8s  %s\n", name, s.ID, s.State, about(s, time.Now()))
		if err != nil {
			return err
		}
	}
	return nil
}

// about describes a status, without its state.
func about(s fleet.Status, now time.Time) string {
	var parts []string
	switch {
	case s.State == fleet.Queued:
		parts = append(parts, "for "+spell(now.Sub(s.Submitted)))
	case s.State == fleet.Paused && s.NotBefore.After(now):
		parts = append(parts, "for another "+spell(s.NotBefore.Sub(now)))
	case s.State == fleet.Running:
		parts = append(parts, "for "+spell(now.Sub(s.Started)), "on "+s.Worker)
	case s.State.Final() && !s.Started.IsZero():
		parts = append(parts, "in "+spell(s.Ended.Sub(s.Started)))
	}
	if s.Waits {
		parts = append(parts, "waits for an answer")
	}
	if r := s.Result; r != nil {
		if !succeeded(s) && s.State == fleet.Done {
			parts = append(parts, "stopped at "+string(r.Reason))
		}
		if r.CostUSD > 0 {
			parts = append(parts, render.Money(r.CostUSD))
		}
	}
	if s.Verdict != nil {
		parts = append(parts, verdict(s.Verdict))
	}
	if n := len(s.Deaths); n > 0 {
		parts = append(parts, render.Count(n, "dead worker"))
	}
	if s.Reason != "" {
		parts = append(parts, render.OneLine(s.Reason))
	}
	return strings.Join(parts, " · ")
}
