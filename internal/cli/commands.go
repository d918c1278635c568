package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
)

// extensionFlags holds the flags of the commands that list what files define.
type extensionFlags struct {
	dir                string
	trustProject, json bool
}

func (f *extensionFlags) register(cmd *cobra.Command, asJSON string) {
	cmd.Flags().StringVar(&f.dir, "dir", ".", "list those of the project of this `directory`")
	cmd.Flags().BoolVar(&f.trustProject, "trust-project", false, "list those of the project as if you trusted it")
	cmd.Flags().BoolVar(&f.json, "json", false, asJSON)
}

// open reads the files and tells of the mistakes in them.
func (f *extensionFlags) open(t terminal) (*attractor.Extensions, error) {
	e, err := attractor.OpenExtensions(attractor.Config{Dir: f.dir, TrustProject: f.trustProject,
		Load: attractor.LoadUser | attractor.LoadProject})
	if err != nil {
		return nil, hostError(err)
	}
	for _, problem := range e.Problems {
		warn(t.err, problem.Error())
	}
	return e, nil
}

// listedCommand describes a command in commands --json.
type listedCommand struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // skill or command
	Origin      string `json:"origin"`
	Hint        string `json:"argument_hint,omitempty"`
	Description string `json:"description"`
	File        string `json:"file"`
}

func newCommands(t terminal) *cobra.Command {
	f := new(extensionFlags)
	cmd := &cobra.Command{
		Use:   "commands",
		Short: "List the commands and skills that a prompt can use by /name",
		Long: `Commands lists what attractor run "/NAME ARGUMENTS" can use, with a line for each: its name, the arguments that it takes, what it is, whose
it is, and what it does. Commands are Markdown files in .claude/commands, .agents/commands and .attractor/commands, and TOML files in
.gemini/commands, of the home directory and of the project, once you trust it (attractor trust). docs/extending.md describes them. The prompts
of MCP servers can be used in the same way (attractor mcp prompts).`,
		Example: `  attractor commands
  attractor run "/review main"`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			e, err := f.open(t)
			if err != nil {
				return err
			}
			if f.json {
				list := []listedCommand{}
				for _, c := range e.Commands {
					list = append(list, listedCommand{c.Name, string(c.Kind), c.Origin.String(), c.Hint, c.Description,
						c.File})
				}
				return printJSON(t, list)
			}
			return printCommands(t, e)
		},
	}
	f.register(cmd, "print a JSON array of commands, with name, kind, origin, argument_hint, description and file")
	return cmd
}

// printCommands prints a line for each command.
func printCommands(t terminal, e *attractor.Extensions) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, c := range e.Commands {
		fmt.Fprintf(w, "/%s\t%s\t%s\t%s\t%s\n", render.OneLine(c.Name), cmp.Or(render.Shorten(c.Hint, 40), "-"), c.Kind,
			c.Origin, render.Shorten(c.Description, 80))
	}
	if len(e.Commands) == 0 && !e.Unused {
		fmt.Fprintln(t.err, "attractor: there are no commands and no skills; docs/extending.md says how to write some")
	}
	if e.Servers {
		fmt.Fprintln(t.err, "attractor: for the prompts of MCP servers, run: attractor mcp prompts")
	}
	return w.Flush()
}

// listedAgent describes an agent in agents --json.
type listedAgent struct {
	Name        string   `json:"name"`
	Origin      string   `json:"origin"`
	Model       string   `json:"model,omitempty"`
	AllTools    bool     `json:"all_tools"`
	Tools       []string `json:"tools,omitempty"`
	Without     []string `json:"disallowed_tools,omitempty"`
	Description string   `json:"description"`
	File        string   `json:"file"`
}

func newAgents(t terminal) *cobra.Command {
	f := new(extensionFlags)
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents that files define",
		Long: `Agents lists the agents that a model can start by name, with a line for each: its name, whose it is, its model, its tools by Claude Code's
names, and what it does. They are Markdown files in .claude/agents, .agents/agents and .attractor/agents, of the home directory and of the
project, once you trust it (attractor trust). docs/extending.md describes them.`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			e, err := f.open(t)
			if err != nil {
				return err
			}
			if f.json {
				list := []listedAgent{}
				for _, a := range e.Agents {
					list = append(list, listedAgent{a.Name, a.Origin.String(), a.Model, a.AllTools, a.Tools, a.Without,
						a.Description, a.File})
				}
				return printJSON(t, list)
			}
			return printAgents(t, e)
		},
	}
	f.register(cmd, "print a JSON array of agents, with name, origin, model, all_tools, tools, disallowed_tools, "+
		"description and file")
	return cmd
}

// printAgents prints a line for each agent.
func printAgents(t terminal, e *attractor.Extensions) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, a := range e.Agents {
		tools := "all"
		if !a.AllTools {
			tools = cmp.Or(strings.Join(a.Tools, ", "), "none")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", render.OneLine(a.Name), a.Origin,
			cmp.Or(render.Shorten(a.Model, 30), "inherit"), render.Shorten(tools, 40),
			render.Shorten(a.Description, 80))
	}
	if len(e.Agents) == 0 && !e.Unused {
		fmt.Fprintln(t.err, "attractor: no file defines an agent; docs/extending.md says how to write one")
	}
	return w.Flush()
}
