package refdocs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns a page about a command and its subcommands: what --help prints. The commands
// named in first come before the others. A flag that several commands have is described with the
// first of them.
func Commands(title, intro string, root *cobra.Command, first ...string) string {
	p := &commandsPage{described: map[string]string{}}
	all := tree(root)
	var ordered, rest []*cobra.Command
	for _, name := range first {
		for _, cmd := range all {
			if cmd.CommandPath() == name {
				ordered = append(ordered, cmd)
			}
		}
	}
	for _, cmd := range all {
		if !slices.Contains(ordered, cmd) {
			rest = append(rest, cmd)
		}
	}
	fmt.Fprintf(p, "# %s\n\n%s\n\n| command | what it does |\n|---|---|\n", title, intro)
	for _, cmd := range all {
		fmt.Fprintf(p, "| [%s](#%s) | %s |\n", code(cmd.CommandPath()), strings.ReplaceAll(cmd.CommandPath(), " ", "-"),
			cell(cmd.Short))
	}
	for _, cmd := range append(ordered, rest...) {
		p.command(cmd)
	}
	return p.String()
}

type commandsPage struct {
	strings.Builder
	described map[string]string // the command with the description of a flag, by all that the flag says
}

// tree returns a command and those below it, in the order of the help.
func tree(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			all = append(all, tree(sub)...)
		}
	}
	return all
}

// command writes the section of a command.
func (p *commandsPage) command(cmd *cobra.Command) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(p, "\n## %s\n", cmd.CommandPath())
	if usage := strings.TrimSuffix(cmd.UseLine(), " [flags]"); usage != cmd.CommandPath() {
		fmt.Fprintf(p, "\n%s\n", code(cmd.UseLine()))
	}
	fmt.Fprintf(p, "\n```text\n%s\n", strings.TrimSpace(about))
	if cmd.Example != "" {
		fmt.Fprintf(p, "\nExamples:\n%s\n", cmd.Example)
	}
	p.WriteString("```\n")
	p.flags(cmd)
}

// flags writes the flags of a command: a table of those that are described here for the first time,
// and the names of the others.
func (p *commandsPage) flags(cmd *cobra.Command) {
	var table strings.Builder
	var elsewhere []string // the commands that describe other flags, in order
	names := map[string][]string{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		key := f.Name + "\n" + f.Shorthand + "\n" + f.Usage + "\n" + f.DefValue
		if at, ok := p.described[key]; ok {
			if names[at] == nil {
				elsewhere = append(elsewhere, at)
			}
			names[at] = append(names[at], code("--"+f.Name))
			return
		}
		p.described[key] = cmd.CommandPath()
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", code(name), cell(usage), byDefault(f))
	})
	if table.Len() > 0 {
		p.WriteString("\n| flag | what it does | default |\n|---|---|---|\n" + table.String())
	}
	for _, at := range elsewhere {
		fmt.Fprintf(p, "\nAs in [%s](#%s): %s.\n", at, strings.ReplaceAll(at, " ", "-"), strings.Join(names[at], ", "))
	}
}

// byDefault returns the default of a flag for a cell, empty if it is a zero value.
func byDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	return code(f.DefValue)
}
