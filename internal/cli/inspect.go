package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
)

// inspectFlags holds the flags of the commands that show a profile.
type inspectFlags struct {
	profile, dir              string
	native, web, trustProject bool
}

// find returns the chosen profile, with the skills and the agents of the directory.
func (f *inspectFlags) find(t terminal) (profile.Profile, error) {
	p, err := profiles.Find(f.profile, f.native)
	if err != nil {
		return p, fail(exitUsage, "%w", err)
	}
	if f.web {
		p, err = attractor.WithWeb(p)
	}
	var problems []error
	if err == nil {
		p, problems, err = attractor.WithExtensions(p, f.dir, os.Getenv, f.trustProject)
	}
	if err != nil {
		return p, hostError(err)
	}
	for _, problem := range problems {
		warn(t.err, problem.Error())
	}
	return p, nil
}

func (f *inspectFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.profile, "profile", "anthropic", "choose the profile by `name`: "+
		texts.Or(profiles.Names()))
	cmd.Flags().BoolVar(&f.native, "native", false,
		"use the tools of the vendor's own agent, with its names and formats")
	cmd.Flags().BoolVar(&f.web, "web", false, "add the tool that reads public web pages")
	cmd.Flags().StringVar(&f.dir, "dir", ".", "work in this `directory`")
	cmd.Flags().BoolVar(&f.trustProject, "trust-project", false, "use the files of the project as if you trusted it")
}

func newTools(t terminal) *cobra.Command {
	var f inspectFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of a profile, and of a directory",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			p, err := f.find(t)
			if err != nil {
				return err
			}
			registry, err := tool.NewRegistry(p.Tools...)
			if err != nil {
				return fail(exitFailed, "%w", err)
			}
			if asJSON {
				return printJSON(t, registry.Definitions())
			}
			return printTools(t, registry.Definitions())
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of tools, with name, description and parameters")
	return cmd
}

// printJSON prints a value as indented JSON.
func printJSON(t terminal, value any) error {
	enc := json.NewEncoder(inForm(t.out, sanitize.JSON))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// printTools prints definitions of tools for a person.
func printTools(t terminal, defs []llm.ToolDefinition) error {
	for i, def := range defs {
		if i > 0 {
			fmt.Fprintln(t.out)
		}
		text, err := render.Tool(def)
		if err != nil {
			return fail(exitFailed, "tool %s: %w", def.Name, err)
		}
		if _, err := fmt.Fprint(t.out, text); err != nil {
			return err
		}
	}
	return nil
}

func newTool(t terminal) *cobra.Command {
	var f inspectFlags
	var boxed settingFlags
	var ruleFiles []string
	cmd := &cobra.Command{
		Use:   "tool <name> <arguments>",
		Short: "Run a single tool call and print its result",
		Long: `Tool runs one tool call in a directory, as a session would, and prints the result that the model would see.
The arguments are a JSON object. The exit code is 1 if the result is an error.

You ask for the call yourself, so nothing is asked. With --rules, a call that a rule of these files, of yours or of the project denies is
refused, and one that may read a file which such a rule denies, as in a session with --yes.`,
		Example: `  attractor tool read_file '{"file_path":"README.md","limit":5}'
  attractor tool shell '{"command":"git status --short"}' --dir ~/project`,
		Args: takes(argument{"name", "to list the tools, run: attractor tools"},
			argument{"arguments", "pass them as a JSON object, such as {}"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.find(t)
			if err != nil {
				return err
			}
			if !json.Valid([]byte(args[1])) {
				return fail(exitUsage, "the arguments are not valid JSON: %s", args[1])
			}
			registry, err := tool.NewRegistry(p.Tools...)
			if err != nil {
				return fail(exitFailed, "%w", err)
			}
			given, err := givenValues(cmd.Flags())
			if err != nil {
				return err
			}
			boxed.settings = settings.Choose(given, false)
			local, box, err := openDir(t, f.dir, boxed.limits(), boxed.sandboxOptions())
			if err != nil {
				return err
			}
			ctx, stopper := newStopper(cmd.Context(), t.err)
			defer stopper.stop()
			stopper.kills(local.KillNow)
			allowed, err := deniedBy(t, local, ruleFiles)
			if err == nil {
				call := llm.ToolCall{ID: "call_1", Name: args[0], Args: args[1]}
				err = runTool(ctx, t, registry, env.Protect(local, box.Protection()), call, allowed,
					environmentSecrets(), printOutcome)
			}
			if closeErr := errors.Join(local.Close(), box.Close()); closeErr != nil {
				err = errors.Join(err, fail(exitFailed, "%w", closeErr))
			}
			return stopper.or(err)
		},
	}
	f.register(cmd)
	boxed.register(cmd.Flags(), "limit", "sandbox", "network", "allow_host", "allow_socket")
	cmd.Flags().StringArrayVar(&ruleFiles, "rules", nil,
		"refuse what the permission rules deny, also those in this `file`; can be repeated")
	return cmd
}

// deniedBy returns a permission hook that refuses what a session with these rules refuses even
// where nothing is asked, and changes of guarded files. It returns nil without files of rules.
func deniedBy(t terminal, local *env.Local, files []string) (tool.Authorize, error) {
	if len(files) == 0 {
		return nil, nil
	}
	project, err := load.ReadProject(local.WorkDir(), os.Getenv, false)
	if err != nil {
		return nil, hostError(err)
	}
	set, err := load.ReadRules(local, project, files, os.Getenv)
	if err != nil {
		return nil, hostError(err)
	}
	tellIgnored(t, set)
	e := env.Protect(local, env.DefaultProtection())
	gate := permit.NewGate(permit.ModeFull, set, e)
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		if d, err := gate.Authorize(ctx, req); err != nil || d.Verdict != tool.Allow {
			return d, err
		}
		return tool.AllowUnguarded(ctx, req)
	}, nil
}

// runTool runs one call, if the hook allows it, and prints its result.
func runTool(ctx context.Context, t terminal, registry *tool.Registry, e env.Environment, call llm.ToolCall,
	allowed tool.Authorize, secrets *secret.Masker,
	print func(terminal, *tool.Outcome) error) error {
	outcome := registry.Run(ctx, call, tool.Call{Env: e, Session: new(tool.Plain)}, allowed,
		masked.Tools(secrets))
	for i, part := range outcome.Model { // also of a call that was refused before the middleware
		if text, is := part.(llm.Text); is {
			outcome.Model[i] = llm.Text{Text: secrets.String(text.Text)}
		}
	}
	if err := print(t, outcome); err != nil {
		return fail(exitFailed, "%w", err)
	}
	if outcome.IsError {
		return &exitError{code: exitFailed}
	}
	return nil
}

// printOutcome prints a result as the model gets it, and the type and size of media.
func printOutcome(t terminal, outcome *tool.Outcome) error {
	for _, part := range outcome.Model {
		var err error
		switch p := part.(type) {
		case llm.Text:
			_, err = fmt.Fprintln(t.out, strings.TrimSuffix(p.Text, "\n"))
		case llm.Media:
			_, err = fmt.Fprintf(t.out, "[image %s %d]\n", p.MIME, len(p.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newPrompt(t terminal) *cobra.Command {
	var f inspectFlags
	var instructions string
	var sources bool
	cmd := &cobra.Command{
		Use:   "prompt",
		Short: "Print the system prompt of a session in a directory",
		Long: `Prompt prints the system prompt of a session in a directory. With --sources it lists the files with instructions from which the prompt
is made, such as AGENTS.md: how large they are, and which are cut, left out or replaced by another one.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.find(t)
			if err != nil {
				return err
			}
			if sources {
				return showSources(cmd.Context(), t, f.dir, p)
			}
			text, err := settings.Prompt(instructions)
			if err != nil {
				return fail(exitUsage, "%w", err)
			}
			o := agent.Options{Profile: p, Instructions: text, Policy: attractor.DefaultPolicy(),
				Hooks:     agent.Hooks{Approve: new(permit.Gate).Approve},
				Subagents: &agent.Subagents{}, Documents: attractor.Documents(cmd.Context(), p.Name, os.Getenv)}
			o.Documents.Warn = tellMistake(t)
			prompt, err := attractor.SystemPrompt(cmd.Context(), f.dir, o)
			if err != nil {
				return hostError(err)
			}
			_, err = fmt.Fprintln(t.out, environmentSecrets().String(prompt))
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&instructions, "instructions", "",
		"append this `text` to the system prompt; @file reads it from a file")
	cmd.Flags().BoolVar(&sources, "sources", false, "list the files with instructions instead of the prompt")
	return cmd
}
