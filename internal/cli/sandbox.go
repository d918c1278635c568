package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/env/sandbox"
)

// sandboxFlags holds the flags that confine commands.
type sandboxFlags struct {
	level string
	sandbox.Options
}

// register adds the flags to those of a command.
func (f *sandboxFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "sandbox", string(sandbox.Off),
		"confine commands to this `level`: "+strings.Join(sandbox.Levels(), ", "))
	flags.BoolVar(&f.Network, "network", false, "let commands in the sandbox use the network")
	flags.StringArrayVar(&f.AllowHosts, "allow-host", nil,
		"let commands in the sandbox reach this `host` by HTTP and HTTPS, such as example.com, *.example.com or example.com:8443; can be repeated")
	flags.StringArrayVar(&f.AllowSockets, "allow-socket", nil,
		"let commands in the sandbox connect to the Unix socket with this `path`; can be repeated")
}

// options returns the options of the sandbox.
func (f *sandboxFlags) options() (sandbox.Options, error) {
	if f.level == "" { // perhaps a variable that is not set, by somebody who wants a sandbox
		return f.Options, fail(exitUsage, "--sandbox has no level; the levels are %s", strings.Join(sandbox.Levels(),
			", "))
	}
	level, err := sandbox.ParseLevel(f.level)
	if err != nil {
		return f.Options, fail(exitUsage, "%w", err)
	}
	if level == sandbox.Off && (f.Network || len(f.AllowHosts) > 0 || len(f.AllowSockets) > 0) {
		return f.Options, fail(exitUsage,
			"--network, --allow-host and --allow-socket need --sandbox: without one, commands reach the whole network and all sockets")
	}
	f.Level = level
	return f.Options, nil
}
