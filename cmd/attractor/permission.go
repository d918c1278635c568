package main

import (
	"context"
	"os"

	"github.com/attractor-go/attractor/internal/host"
)

// permission holds what the flags say about tool calls, and the person who is asked.
type permission struct {
	host.Permission
	*console // nil if nobody is asked
}

// permission returns the permission whose flag is given. Without one a person on the terminal is asked.
func (f *sessionFlags) permission(t terminal) (*permission, error) {
	switch {
	case f.yes:
		return &permission{Permission: host.AllowAll}, nil
	case f.readOnly:
		return &permission{Permission: host.ReadOnly}, nil
	}
	p := &permission{console: openConsole(t)}
	switch {
	case p.console != nil:
	case f.ask:
		return nil, fail(exitUsage, "--ask needs a terminal to ask on")
	case len(f.rules) == 0:
		return nil, fail(exitUsage, "there is no terminal to ask for permission; pass --yes to allow what the rules ask about, --read-only to refuse what changes "+
			"or runs anything, or --rules with a file of rules to refuse what they do not allow")
	}
	return p, nil
}

// asker returns the function that asks about tool calls, or nil if nobody is asked.
func (p *permission) asker() host.Asker {
	if p.console == nil {
		return nil
	}
	keep := func(ctx context.Context, rules []string) (string, error) {
		return host.KeepRules(ctx, os.Getenv, rules)
	}
	return (&asker{console: p.console, keep: keep}).ask
}

// Close closes the terminal.
func (p *permission) Close() error {
	if p.console == nil {
		return nil
	}
	return p.console.Close()
}
