package command

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/internal/cli"
)

// clientFlags holds the flags of a tenant's commands.
type clientFlags struct {
	serverFlags
	tenant string
}

// register adds the flags.
func (f *clientFlags) register(flags *pflag.FlagSet) {
	f.serverFlags.register(flags, "the tenant's")
	flags.StringVar(&f.tenant, "tenant", "", "act for the tenant with this `name` (default: $"+tenantVar+", or "+
		fleet.DefaultTenant+")")
}

// connection is a connection to a tenant's space.
type connection struct {
	*fleet.Client
	space *fleet.Space
}

// connected calls do with a connection as a client of a tenant.
func (f *clientFlags) connected(ctx context.Context, do func(c *connection) error) error {
	url, o, err := f.options("attractor-fleet")
	if err != nil {
		return err
	}
	tenant := cmp.Or(f.tenant, os.Getenv(tenantVar), fleet.DefaultTenant)
	space, end, err := natsfleet.OpenTenant(ctx, url, tenant, o)
	if err != nil {
		return cli.Fail(cli.ExitFailed, "%w", err)
	}
	return errors.Join(do(&connection{fleet.NewClient(space), space}), end())
}
