package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/cli"
)

// workerFlags holds the flags of worker.
type workerFlags struct {
	serverFlags
	placeFlags
	session                 cli.SessionFlags
	name, dir               string
	slots, maxDeaths        int
	tenants                 []string
	ttl, grace              time.Duration
	allowDir, asks, verbose bool
}

func (p *program) worker() *cobra.Command {
	f := new(workerFlags)
	cmd := &cobra.Command{
		Use:   "worker [flags]",
		Short: "Run tasks of the queue on this machine",
		Long: `Worker claims tasks of the queue and runs their sessions, each as attractor run does with the same flags. Provider, model, effort and profile are for
tasks that name none. --budget-usd and --budget-tokens hold for each task, beside its own budget.

Choose with --yes, --read-only, --mode, --rules or --allow-tool what becomes of calls that need permission. With --ask-clients they wait until a client
of the tenant decides, with attractor-fleet approve and deny; questions of the model wait for attractor-fleet answer.

Ctrl-C, and attractor-fleet drain, give its tasks to other workers between two steps. When the worker dies, others go on with its tasks after --ttl.

` + placesHelp + `

` + operatorHelp,
		Example: `  attractor-fleet worker --url tls://queue:4222 --yes --sandbox workspace --slots 8
  attractor-fleet worker --ask-clients --environments environments.json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, p) },
	}
	flags := cmd.Flags()
	f.session.Register(flags)
	f.serverFlags.register(flags, "the operator's")
	flags.StringVar(&f.name, "name", "",
		"call the worker by this `name`, unique among those that live (default: the machine's, and a random part)")
	flags.IntVar(&f.slots, "slots", 4, "run `n` tasks at a time")
	flags.IntVar(&f.maxDeaths, "max-deaths", 3, "give a task up that has ended `n` workers")
	flags.StringSliceVar(&f.tenants, "tenants", nil,
		"serve only the tenants with these `names` (default: all; with --allow-dir or without a sandbox, the one "+
			"that there is at the start)")
	flags.DurationVar(&f.ttl, "ttl", 10*time.Second,
		"others take over this `duration` after the worker was last heard of")
	flags.DurationVar(&f.grace, "grace", time.Minute,
		"let running calls go on for this `duration` at most when tasks are given away")
	flags.StringVar(&f.dir, "work-dir", "",
		"make workspaces in this `directory` (default: in the user's cache directory)")
	f.placeFlags.register(flags)
	flags.BoolVar(&f.allowDir, "allow-dir", false,
		"let tasks name directories of this machine; for fleets with one tenant")
	flags.BoolVar(&f.asks, "ask-clients", false,
		"let calls that need permission, and questions, wait for a client of the tenant")
	flags.BoolVar(&f.verbose, "verbose", false, "log more")
	return cmd
}

// run runs the worker until a signal, or until it is drained.
func (f *workerFlags) run(cmd *cobra.Command, p *program) error {
	switch {
	case f.slots < 1:
		return cli.Usage(cmd, fmt.Errorf("--slots must be at least 1, not %d", f.slots))
	case f.ttl < time.Second:
		return cli.Usage(cmd, fmt.Errorf("--ttl must be at least 1s, not %v", f.ttl))
	case f.maxDeaths < 1:
		return cli.Usage(cmd, fmt.Errorf("--max-deaths must be at least 1, not %d", f.maxDeaths))
	case f.grace <= 0: // fleet.Worker takes 0 for its default
		return cli.Usage(cmd, fmt.Errorf("--grace must be more than 0, such as 1ms, not %v", f.grace))
	}
	config, err := f.session.Config(cmd.Flags(), f.asks)
	if err != nil {
		return err
	}
	options, state, err := f.workspaces()
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%w", err)
	}
	s := &sessions{config: config, flags: &f.session, asks: f.asks, state: state}
	if err := s.check(cmd.Context()); err != nil {
		return err
	}
	if err := config.CheckProvider(); err != nil {
		p.warn("warning: tasks that name no provider will fail: %v", err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	engine, err := f.openFleet(ctx, "worker "+f.name)
	if err != nil {
		return err
	}
	places, err := workspace.New(options)
	if err == nil {
		err = f.separateTenants(ctx, engine, f.session.Confines(), options)
	}
	if err != nil {
		return errors.Join(cli.Fail(cli.ExitUsage, "%w", err), engine.Close())
	}
	stopper := cli.NewStopper(p.err, cancel, s.kill)
	defer stopper.Stop()
	w := &fleet.Worker{Engine: engine, Name: f.name, Slots: f.slots, Host: s.Open, Judge: s.Judge, Workspaces: places,
		TTL: f.ttl, Grace: f.grace, MaxDeaths: f.maxDeaths, Tenants: f.tenants, Logger: p.logger(f.verbose)}
	err = errors.Join(p.keepRunning(ctx, w), engine.Close())
	if code := stopper.Stop(); code != 0 && err == nil {
		return cli.Silent(code)
	}
	if err != nil {
		return cli.Fail(cli.ExitFailed, "%w", err)
	}
	return nil
}

// rerunAfter is how long a worker has to have run, in leases, to be run again after an error.
const rerunAfter = 3

// keepRunning runs a worker until ctx ends or the worker is drained. A worker that has lost its
// lease is run again, but not one that ended before it had run for long.
func (p *program) keepRunning(ctx context.Context, w *fleet.Worker) error {
	for ran := false; ; {
		began := time.Now()
		err := w.Run(ctx)
		ran = ran || time.Since(began) > rerunAfter*w.TTL
		if err == nil || ctx.Err() != nil || !ran {
			return err
		}
		gap := w.TTL / 2
		p.warn("the worker begins anew in %v: %v", gap, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gap):
		}
	}
}

// separateTenants returns an error if the worker serves several tenants whose tasks could reach
// each other on this machine. If it may serve only one, it names the one that there is now, so that
// the worker does not serve others that the fleet gets later.
func (f *workerFlags) separateTenants(ctx context.Context, engine fleet.Engine, confined bool,
	o workspace.Options) error {
	if !f.allowDir && confines(confined, o) {
		return nil
	}
	if len(f.tenants) == 0 {
		all, err := engine.Tenants(ctx)
		if err != nil {
			return err
		}
		for _, t := range all {
			f.tenants = append(f.tenants, t.Name)
		}
	}
	switch served := len(f.tenants); {
	case served < 2:
		return nil
	case f.allowDir:
		return fmt.Errorf("--allow-dir is for one tenant, and this worker serves %d: leave it out, or pass --tenants "+
			"with one name", served)
	default:
		return fmt.Errorf("this worker serves %d tenants, whose commands could read each other's files on this "+
			"machine: pass --sandbox workspace, or --tenants with one name, or give each environment a sandbox or a "+
			"container, also the one called local (--environments)", served)
	}
}

// confines reports whether commands are confined, or elsewhere, in every environment that a task
// can name.
func confines(all bool, o workspace.Options) bool {
	if all {
		return true
	}
	if _, ok := o.Environments[workspace.Local]; !ok {
		return false
	}
	for _, e := range o.Environments {
		if len(e.Command) == 0 && (e.Sandbox == "" || e.Sandbox == sandbox.Off) {
			return false
		}
	}
	return true
}

// workspaces returns the options of workspaces, and the directory of the worker's own files.
func (f *workerFlags) workspaces() (o workspace.Options, dir string, err error) {
	if dir = f.dir; dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, "", fmt.Errorf("there is no directory for workspaces: %w; pass --work-dir", err)
		}
		dir = filepath.Join(cache, "attractor", "fleet")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return o, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, "", err
	}
	o = workspace.Options{Dir: filepath.Join(dir, "workspaces"), AllowDir: f.allowDir}
	return o, dir, f.read(&o)
}

func (p *program) workers() *cobra.Command {
	var f serverFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "workers [flags]",
		Short: "List the workers that live",
		Long:  "Workers lists the workers of the fleet.\n\n" + operatorHelp,
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := f.openFleet(cmd.Context(), "attractor-fleet")
			if err != nil {
				return err
			}
			return errors.Join(p.listWorkers(cmd.Context(), engine, asJSON), engine.Close())
		},
	}
	f.register(cmd.Flags(), "the operator's")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each worker as a line of JSON")
	return cmd
}

// listWorkers prints the workers.
func (p *program) listWorkers(ctx context.Context, engine fleet.Engine, asJSON bool) error {
	list, err := engine.Leases().List(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		state := ""
		if w.Draining {
			state = "  drains"
		}
		text := fmt.Sprintf("%s  on %s  %d of %d tasks  for %s%s", w.Name, cmp.Or(w.Host, "?"), w.Running, w.Slots,
			spell(time.Since(w.Since)), state)
		if err := p.print(asJSON, w, text); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) drain() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "drain [flags] <worker>...",
		Short: "Let workers give their tasks away and end",
		Long: `Drain asks workers to give their tasks to others, between two steps, and to end. It returns at once; attractor-fleet workers shows those that are
still there.

` + operatorHelp,
		Example: `  attractor-fleet drain machine-7`,
		Args:    atLeastOne("the name of a worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			engine, err := f.openFleet(cmd.Context(), "attractor-fleet")
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range args {
				err := engine.Leases().Drain(cmd.Context(), name)
				if errors.Is(err, os.ErrNotExist) {
					err = cli.Fail(cli.ExitUsage, "there is no worker %q; to list them, run: attractor-fleet workers",
						name)
				}
				errs = append(errs, err)
			}
			return errors.Join(append(errs, engine.Close())...)
		},
	}
	f.register(cmd.Flags(), "the operator's")
	return cmd
}
