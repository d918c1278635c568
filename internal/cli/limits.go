package cli

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/settings"
)

// limitsFlag is the value of --limit.
type limitsFlag struct{ env.Limits }

// register adds --limit to the flags of a command.
func (l *limitsFlag) register(flags *pflag.FlagSet) {
	flags.Var(l, "limit", "give each command these `limits`, such as processes=500,memory=2g; also file-size and open-files (default: 4096 processes; none lifts a limit)")
}

// Set implements [pflag.Value].
func (l *limitsFlag) Set(text string) error { return settings.ParseLimits(&l.Limits, text) }

// String implements [pflag.Value].
func (l *limitsFlag) String() string { return settings.FormatLimits(l.Limits) }

// add replaces those limits that the other ones set.
func (l *limitsFlag) add(o env.Limits) {
	l.Processes, l.Memory = cmp.Or(o.Processes, l.Processes), cmp.Or(o.Memory, l.Memory)
	l.FileSize, l.OpenFiles = cmp.Or(o.FileSize, l.FileSize), cmp.Or(o.OpenFiles, l.OpenFiles)
}

// Type implements [pflag.Value].
func (l *limitsFlag) Type() string { return "limits" }
