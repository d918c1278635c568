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
	style, _ := cli.Look(p.out)
	for _, s := range found {
		if err := p.print(asJSON, s, listed(style, s, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the line about a task in a list, which says how long it has waited, or run.
func listed(style render.Style, s fleet.Status, now time.Time) string {
	switch s.State {
	case fleet.Queued:
		return statusLine(style, s, "for "+spell(now.Sub(s.Submitted)))
	case fleet.Running:
		return statusLine(style, s, "for "+spell(now.Sub(s.Started)))
	}
	return statusLine(style, s)
}
