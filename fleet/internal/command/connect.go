package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/internal/cli"
)

// The variables that stand for flags.
const (
	urlVar       = "ATTRACTOR_FLEET_URL"
	tenantVar    = "ATTRACTOR_FLEET_TENANT"
	tokenVar     = "ATTRACTOR_FLEET_TOKEN"
	tokenFileVar = "ATTRACTOR_FLEET_TOKEN_FILE"
	caVar        = "ATTRACTOR_FLEET_CA"
)

// connectHelp says how commands find the servers.
const connectHelp = `The servers, the tenant and its token are those of the flags, or of the variables ` + urlVar +
	`, ` + tenantVar + ` and
` + tokenVar + ` or ` + tokenFileVar + `. A token is never on the command line, where others can see it.`

// operatorHelp says how commands of the operator find the servers.
const operatorHelp = `The servers and the operator's token are those of the flags, or of the variables ` + urlVar +
	` and ` + tokenVar + ` or
` + tokenFileVar + `.`

// serverFlags holds the flags that say which servers to connect to.
type serverFlags struct {
	url, tokenFile, ca, cert, key string
	// changed, if set, is told when the connection was lost and when it is back.
	changed func(lost bool)
}

// register adds the flags. Who says whose token it is.
func (f *serverFlags) register(flags *pflag.FlagSet, whose string) {
	flags.StringVar(&f.url, "url", "",
		"connect to the servers at this `URL`, such as tls://queue.example.com:4222; several with commas (default: $"+
			urlVar+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "read "+whose+" token from this `file` (default: $"+tokenFileVar+
		", or the token in $"+tokenVar+")")
	flags.StringVar(&f.ca, "ca", "",
		"trust servers whose certificates are from the authorities in this PEM `file` (default: $"+caVar+
			", or those of the system)")
	flags.StringVar(&f.cert, "cert", "", "show servers the certificate in this PEM `file`, if they want one")
	flags.StringVar(&f.key, "cert-key", "", "the private key of --cert is in this PEM `file`")
}

// options returns the URL and how to connect. It takes the token out of the environment, so that
// nothing that is started later has it.
func (f *serverFlags) options(name string) (url string, o natsfleet.OpenOptions, err error) {
	if url = cmp.Or(f.url, os.Getenv(urlVar)); url == "" {
		return "", o, cli.Fail(cli.ExitUsage,
			"there is no URL of the fleet's servers: pass --url, or set %s. To run tasks without servers, run: "+
				"attractor-fleet batch",
			urlVar)
	}
	o = natsfleet.OpenOptions{Name: name, CA: cmp.Or(f.ca, os.Getenv(caVar)), Cert: f.cert, Key: f.key,
		OnConnection: f.changed}
	if o.Token, err = f.token(); err != nil {
		return "", o, cli.Fail(cli.ExitUsage, "%w", err)
	}
	if (f.cert == "") != (f.key == "") {
		return "", o, cli.Fail(cli.ExitUsage, "--cert and --cert-key go together")
	}
	if err := f.checkCertificates(o); err != nil {
		return "", o, cli.Fail(cli.ExitUsage, "%w", err)
	}
	return url, o, nil
}

// checkCertificates returns what is wrong with the files of certificates.
func (f *serverFlags) checkCertificates(o natsfleet.OpenOptions) error {
	if o.CA != "" {
		name := "--ca"
		if f.ca == "" {
			name = caVar
		}
		data, err := os.ReadFile(o.CA)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			return fmt.Errorf("%s: %s has no certificates in PEM", name, o.CA)
		}
	}
	if o.Cert != "" {
		if _, err := tls.LoadX509KeyPair(o.Cert, o.Key); err != nil {
			return fmt.Errorf("--cert and --cert-key: %w", err)
		}
	}
	return nil
}

// token returns the token.
func (f *serverFlags) token() (string, error) {
	token := os.Getenv(tokenVar)
	if err := os.Unsetenv(tokenVar); err != nil {
		return "", err
	}
	file := cmp.Or(f.tokenFile, os.Getenv(tokenFileVar))
	if f.tokenFile == "" && token != "" {
		return token, nil
	}
	if file == "" {
		return "", fmt.Errorf("there is no token: pass --token-file, or set %s or %s", tokenVar, tokenFileVar)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	if token = strings.TrimSpace(string(data)); token == "" {
		return "", fmt.Errorf("the token: %s is empty", file)
	}
	return token, nil
}

// openFleet connects as the operator.
func (f *serverFlags) openFleet(ctx context.Context, name string) (fleet.Engine, error) {
	url, o, err := f.options(name)
	if err != nil {
		return nil, err
	}
	engine, err := natsfleet.Open(ctx, url, o)
	if err != nil {
		return nil, cli.Fail(cli.ExitFailed, "%w", err)
	}
	return engine, nil
}

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
