package command

import (
	"cmp"
	"context"
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
	space  fleet.Space
	tenant string
	close  func() error
}

// open connects as a client of a tenant.
func (f *clientFlags) open(ctx context.Context) (*connection, error) {
	url, o, err := f.options("attractor-fleet")
	if err != nil {
		return nil, err
	}
	c := &connection{tenant: cmp.Or(f.tenant, os.Getenv(tenantVar), fleet.DefaultTenant)}
	if c.space, c.close, err = natsfleet.OpenTenant(ctx, url, c.tenant, o); err != nil {
		return nil, cli.Fail(cli.ExitFailed, "%w", err)
	}
	c.Client = fleet.NewClient(c.space)
	return c, nil
}
