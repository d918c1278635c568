package main

import (
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/host"
)

// limitsFlag is the value of --limit.
type limitsFlag struct{ env.Limits }

// register adds --limit to the flags of a command.
func (l *limitsFlag) register(flags *pflag.FlagSet) {
	flags.Var(l, "limit", "give each command these `limits`, such as processes=500,memory=2g; also file-size and open-files (default: 4096 processes; none lifts a limit)")
}

// Set implements [pflag.Value].
func (l *limitsFlag) Set(text string) error { return host.ParseLimits(&l.Limits, text) }

// String implements [pflag.Value]. It returns no default.
func (l *limitsFlag) String() string { return "" }

// Type implements [pflag.Value].
func (l *limitsFlag) Type() string { return "limits" }
