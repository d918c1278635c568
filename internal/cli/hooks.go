package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/load"
	"github.com/spf13/cobra"
)

func newHooks(t terminal) *cobra.Command {
	f := new(extensionFlags)
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List hooks",
		Long: `Hooks are commands that run at fixed moments of a session, such as before a tool call, and can prevent something. They are in JSON files, in
the form of Claude Code's settings:

  {"hooks": {
    "PreToolUse":  [{"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/guard.py", "onFailure": "block"}]}],
    "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "gofmt -l .", "timeout": 20}]}]
  }}

The tools have Claude Code's names. These files count, in this order:

  $XDG_CONFIG_HOME/attractor/hooks.json (or ~/.config/attractor/hooks.json)
  ~/.claude/settings.json and ~/.codex/hooks.json
  .attractor/hooks.json, .claude/settings.json, .claude/settings.local.json and .codex/hooks.json of the project, once you trust it

Hooks prints a line for each hook. The state is ready, or needs trust. docs/extending.md describes events, input and output.`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			project, err := load.ReadProject(f.dir, os.Getenv, f.trustProject)
			if err != nil {
				return hostError(err)
			}
			return listHooks(t, load.ReadHooks(project, os.Getenv), f.json)
		},
	}
	f.register(cmd, "print a JSON array")
	return cmd
}

// listedHook describes a hook in hooks --json.
type listedHook struct {
	Event     hooks.Event `json:"event"`
	Matcher   string      `json:"matcher,omitempty"`
	If        string      `json:"if,omitempty"`
	Command   string      `json:"command"`
	Args      []string    `json:"args,omitempty"`
	TimeoutMS int64       `json:"timeout_ms"`
	Async     bool        `json:"async,omitempty"`
	OnFailure string      `json:"on_failure,omitempty"`
	Origin    string      `json:"origin"`
	File      string      `json:"file"`
	Line      int         `json:"line"`
	State     string      `json:"state"` // ready or needs trust
}

// listHooks prints hooks, and what is wrong in their files.
func listHooks(t terminal, c *load.ConfiguredHooks, asJSON bool) error {
	list := []listedHook{}
	add := func(all []hooks.Hook, state string) {
		for i := range all {
			h := &all[i]
			one := listedHook{h.Event, h.Matcher, h.If, h.Command, h.Args, h.Timeout.Milliseconds(), h.Async, "",
				h.Origin.String(), h.File, h.Line, state}
			if h.Block {
				one.OnFailure = "block"
			}
			list = append(list, one)
		}
	}
	add(c.List, "ready")
	add(c.Untrusted, "needs trust")
	for _, m := range c.Mistakes {
		warn(t.err, m.Error())
	}
	for _, file := range c.Off {
		fmt.Fprintln(t.err, "attractor: hooks are turned off by disableAllHooks in "+render.OneLine(file))
	}
	if asJSON {
		return printJSON(t, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(t.err, "attractor: there are no hooks; attractor hooks --help says where they are configured")
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for i := range list {
		one := &list[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s:%d\t%s\n", one.Event, render.OneLine(cmp.Or(one.Matcher, "*")), one.Origin,
			one.State, render.OneLine(one.File), one.Line,
			render.OneLine(strings.Join(append([]string{one.Command}, one.Args...), " ")))
	}
	return w.Flush()
}
