package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/internal/cli"
)

// serveFlags holds the flags of serve. Those that are given replace what the file has.
type serveFlags struct {
	config, listen, store, name string
	replicas                    int
	json, verbose               bool
}

func (p *program) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run the server of a fleet",
		Long: `Serve runs a server that keeps the queue, the sessions and the results of a fleet: NATS JetStream, in this process. Its configuration is a JSON
file, which attractor-fleet init writes; fleet/natsfleet/README.md describes it. Each record is on the disk before it is acknowledged. With three servers
and --replicas 3, the fleet goes on when one of them dies.`,
		Example: `  attractor-fleet init fleet.json
  attractor-fleet serve --config fleet.json
  attractor-fleet serve --config fleet.json --name b --replicas 3      on each of three machines, with its name`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := f.read()
			if err != nil {
				return cli.Fail(cli.ExitUsage, "%w", err)
			}
			return p.serveFleet(cmd.Context(), config, f.verbose, f.json)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "fleet.json", "read the configuration from this `file`")
	flags.StringVar(&f.listen, "listen", "", "listen for workers and clients at this `host:port`")
	flags.StringVar(&f.store, "store", "", "keep everything in this `directory`")
	flags.StringVar(&f.name, "name", "", "the server's own `name` in a cluster")
	flags.IntVar(&f.replicas, "replicas", 0, "keep each record on `n` servers: 1, 3 or 5")
	flags.BoolVar(&f.verbose, "verbose", false, "log more")
	flags.BoolVar(&f.json, "json", false, "print a JSON object with the URL when the server is ready")
	return cmd
}

// read returns the configuration.
func (f *serveFlags) read() (c natsfleet.Config, err error) {
	data, err := os.ReadFile(f.config)
	if errors.Is(err, os.ErrNotExist) {
		return c, fmt.Errorf("%w\nTo write a new configuration, run: attractor-fleet init %s", err, f.config)
	}
	if err != nil {
		return c, err
	}
	if c, err = natsfleet.ParseConfig(data, f.apply); err != nil {
		return c, fmt.Errorf("%s: %w", f.config, err)
	}
	return c, nil
}

// apply replaces values of the file by those of flags.
func (f *serveFlags) apply(c *natsfleet.Config) {
	c.Listen, c.Store, c.Name = cmp.Or(f.listen, c.Listen), cmp.Or(f.store, c.Store), cmp.Or(f.name, c.Name)
	c.Replicas = cmp.Or(f.replicas, c.Replicas)
}

// serveFleet runs the server until a signal.
func (p *program) serveFleet(ctx context.Context, c natsfleet.Config, verbose, asJSON bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopper := cli.NewStopper(p.err, cancel, nil)
	defer stopper.Stop()
	c.Logger = p.logger(verbose)
	server, err := natsfleet.StartServer(ctx, c)
	if err != nil {
		if code := stopper.Stop(); code != 0 {
			return cli.Fail(code, "stopped by a signal")
		}
		return cli.Fail(cli.ExitFailed, "%w", err)
	}
	err = p.print(asJSON, map[string]string{"url": server.URL()}, "The fleet's server is ready at "+server.URL()+
		". Ctrl-C ends it; workers and clients wait for it to come back.")
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}

// logger returns a log on standard error.
func (p *program) logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: level}))
}

func (p *program) initialize() *cobra.Command {
	var listen, store string
	cmd := &cobra.Command{
		Use:   "init [flags] <fleet.json>",
		Short: "Write the configuration of a new fleet",
		Long: `Init writes the configuration of a server with one tenant, and with random tokens for the operator and for the tenant. It replaces no file. Only
its owner can read it.`,
		Example: `  attractor-fleet init fleet.json
  attractor-fleet serve --config fleet.json`,
		Args: takes(1, "the file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := writeConfig(args[0], listen, store); err != nil {
				return cli.Fail(cli.ExitFailed, "%w", err)
			}
			_, err := fmt.Fprintf(p.out, `Wrote %s. To run the server: attractor-fleet serve --config %s
Workers get the operator's token, and clients that of their tenant, in $%s or in a file that --token-file names.
`, args[0], args[0], tokenVar)
			return err
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:4222", "the server listens at this `host:port`")
	cmd.Flags().StringVar(&store, "store", "fleet-data", "the server keeps everything in this `directory`")
	return cmd
}

// writeConfig writes a new configuration.
func writeConfig(file, listen, store string) error {
	token := func() natsfleet.Token { return natsfleet.Token(strings.ToLower(rand.Text())) }
	c := natsfleet.Config{Store: store, Listen: listen, Operator: token(),
		Tenants: []natsfleet.Tenant{{Tenant: fleet.Tenant{Name: fleet.DefaultTenant}, Token: token()}}}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}
