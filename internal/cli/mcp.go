package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

func newMCP(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "List and try out MCP servers",
		Long: `MCP servers bring tools into a session (Model Context Protocol). They are in JSON files:

  {"mcpServers": {
    "files":  {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}}
  }}

${NAME} and ${NAME:-default} stand for variables of the environment. These files count, and of servers with one name the first is used:

  files of --mcp, such as ~/.claude.json, which has those of Claude Code
  $XDG_CONFIG_HOME/attractor/mcp.json (or ~/.config/attractor/mcp.json)
  .mcp.json of the project, once you trust it (attractor trust)

Your servers run on this machine as you. Those of a project run in the sandbox of --sandbox, if there is one. docs/mcp.md describes all
members. A tool is called mcp__SERVER__TOOL, also in permission rules.`,
		Example: `  attractor mcp list
  attractor mcp tools files
  attractor mcp call files read_text_file '{"path": "README.md"}'
  attractor mcp login github`,
	}
	cmd.AddCommand(newMCPList(t), newMCPTools(t), newMCPPrompts(t), newMCPCall(t), newMCPLogin(t), newMCPLogout(t))
	return cmd
}

// mcpFlags holds the flags of the commands about servers.
type mcpFlags struct {
	settingFlags
	dir          string
	trustProject bool
	json         bool
}

// registerFiles adds the flags that say where servers are configured.
func (f *mcpFlags) registerFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "use the servers of the project of this `directory`")
	flags.BoolVar(&f.trustProject, "trust-project", false, "use the project's servers as if you trusted it")
	cmd.ValidArgsFunction = f.completeServers
	f.settingFlags.register(flags, "mcp")
	f.readFirst(cmd)
}

// register adds the flags to those of a command that starts servers.
func (f *mcpFlags) register(cmd *cobra.Command, asJSON string) {
	f.registerFiles(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, asJSON)
	f.settingFlags.register(flags, "sandbox", "network", "allow_host", "allow_socket")
}

// named returns the configuration that names the servers.
func (f *mcpFlags) named() attractor.Config {
	c := attractor.Config{Dir: f.dir, TrustProject: f.trustProject, Load: attractor.LoadUser | attractor.LoadProject}
	c.Set("mcp", "--mcp", f.settings.List("mcp")...)
	return c
}

// config returns the configuration of the servers, and of the sandbox of a project's.
func (f *mcpFlags) config() attractor.Config {
	c := f.named()
	c.Sandbox = f.sandboxOptions()
	return c
}

// with opens the servers, or the only one with a name, and calls use when all of them have started
// or failed. A signal ends that.
func (f *mcpFlags) with(ctx context.Context, t terminal, only string,
	use func(context.Context, *attractor.ServerSetup) error) error {
	ctx, stopper := newStopper(ctx, t.err)
	defer stopper.stop()
	config := f.config()
	setup, err := attractor.StartServers(ctx, config, only)
	if errors.Is(err, errors.ErrUnsupported) { // a session goes on without the sandbox, too
		if level := f.settings.Clone().WithoutOtherSandbox("it cannot be had here"); level != nil {
			warn(t.err, fmt.Sprintf("The servers run without the sandbox that %s chooses: %v", level.Origin, err))
			config.Sandbox = sandbox.Options{}
			setup, err = attractor.StartServers(ctx, config, only)
		}
	}
	if err != nil {
		return stopper.or(hostError(err))
	}
	stopper.kills(setup.Local.KillNow)
	tellAbandoned(t, setup.Local.Abandoned)
	for _, text := range setup.Warnings() {
		warn(t.err, setup.Secrets.String(text))
	}
	err = use(ctx, setup)
	if closeErr := setup.Close(); closeErr != nil {
		err = errors.Join(err, fail(exitFailed, "%w", closeErr))
	}
	return stopper.or(err)
}

// listedServer describes a server in mcp list --json.
type listedServer struct {
	Name      string `json:"name"`
	Origin    string `json:"origin"`
	File      string `json:"file"`
	Transport string `json:"transport"` // stdio, http, or - if it is not known
	Target    string `json:"target"`    // its command or URL
	State     string `json:"state"`
	Error     string `json:"error,omitempty"`
	Program   string `json:"program,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	Tools     int    `json:"tools"`
	TookMS    int64  `json:"took_ms"` // to start
}

func newMCPList(t terminal) *cobra.Command {
	f := new(mcpFlags)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Start the MCP servers and list them",
		Long: `List starts the servers, waits until each has listed its tools or failed, and prints a line for each: its name, whose it is, how it is
reached, its state, the number of its tools and how long it took. The states are connected, failed, needs login and needs trust. The exit
code is 0 also if servers have failed.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), t, "",
				func(_ context.Context, s *attractor.ServerSetup) error { return f.list(t, s) })
		},
	}
	f.register(cmd, "print a JSON array")
	return cmd
}

// list prints the servers.
func (f *mcpFlags) list(t terminal, s *attractor.ServerSetup) error {
	list := []listedServer{}
	for _, st := range s.Status() {
		list = append(list, listServer(st, s.Secrets.String))
	}
	for _, name := range s.Configured.Untrusted {
		list = append(list, listedServer{Name: name, Origin: mcp.Project.String(), Transport: "-", State: "needs trust",
			Error: s.Configured.Why + "; run: attractor trust"})
	}
	if f.json {
		return printJSON(t, list)
	}
	switch {
	case len(list) > 0:
	case len(s.Configured.Problems) > 0:
		fmt.Fprintln(t.err, "attractor: no MCP server can be used, because of what the warnings say")
	default:
		fmt.Fprintln(t.err, "attractor: there are no MCP servers; attractor mcp --help says where they are configured")
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, one := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s", render.OneLine(one.Name), one.Origin, one.Transport, one.State)
		if one.State == string(mcp.Connected) {
			fmt.Fprintf(w, "\t%s\t%s\n", render.Count(one.Tools, "tool"),
				render.Rounded(time.Duration(one.TookMS)*time.Millisecond))
			continue
		}
		fmt.Fprintf(w, "\t%s\n", render.OneLine(one.Error))
	}
	return w.Flush()
}

// listServer describes a server.
func listServer(st mcp.Status, mask func(string) string) listedServer {
	one := listedServer{Name: st.Server.Name, Origin: st.Server.Origin.String(), File: st.Server.File,
		Transport: "stdio", State: string(st.State),
		Target: mask(strings.Join(append([]string{st.Server.Command}, st.Server.Args...), " ")), Program: st.Program,
		Protocol: st.Protocol,
		Tools:    len(st.Tools), TookMS: st.Took.Milliseconds()}
	if st.Server.URL != "" {
		one.Transport, one.Target = "http", mask(st.Server.URL)
	}
	if st.Err != nil {
		one.Error = mask(st.Err.Error())
	}
	if errors.As(st.Err, new(*mcp.LoginError)) {
		one.State = "needs login"
	}
	return one
}

func newMCPTools(t terminal) *cobra.Command {
	f := new(mcpFlags)
	cmd := &cobra.Command{
		Use:   "tools [server]",
		Short: "List the tools of MCP servers",
		Long: "Tools starts the servers, or the named one, and prints the tools as a model gets them. Tools that " +
			"have changed are accepted by that: rules that allow calls of them count again. The exit code is 1 if a " +
			"server has failed.",
		Args: takesUpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), t, strings.Join(args, ""),
				func(_ context.Context, s *attractor.ServerSetup) error {
					defs, changed := []llm.ToolDefinition{}, changedTools(s) // before they are shown
					for _, st := range s.Status() {
						for i := range st.Tools {
							defs = append(defs, st.Tools[i].ToolDefinition)
						}
					}
					print := printTools
					if f.json {
						print = func(t terminal, defs []llm.ToolDefinition) error { return printJSON(t, defs) }
					}
					if err := print(t, defs); err != nil {
						return err
					}
					for i := range defs { // somebody has looked at them
						s.Servers.Accept(defs[i].Name, changed[defs[i].Name])
					}
					return failedServers(s)
				})
		},
	}
	f.register(cmd, "print a JSON array of tools, with name, description and parameters")
	return cmd
}

// changedTools returns the hashes of the tools that describe themselves otherwise than before.
func changedTools(s *attractor.ServerSetup) map[string]string {
	changed := map[string]string{}
	if s.Servers != nil {
		for _, t := range s.Servers.Tools() {
			changed[t.Name] = s.Servers.Changed(t.Name)
		}
	}
	return changed
}

func newMCPPrompts(t terminal) *cobra.Command {
	f := new(mcpFlags)
	cmd := &cobra.Command{
		Use:   "prompts [server]",
		Short: "List the prompts of MCP servers",
		Long: `Prompts starts the servers, or the named one, and prints their prompts. To use one, begin the prompt of a session with its name:

  attractor run "/mcp__SERVER__PROMPT first-argument NAME=value"

The exit code is 1 if a server has failed.`,
		Args: takesUpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), t, strings.Join(args, ""),
				func(ctx context.Context, s *attractor.ServerSetup) error {
					list := []listedPrompt{}
					if s.Servers != nil {
						for _, p := range s.Servers.Prompts(ctx) {
							list = append(list, listedPrompt{p.Name, p.Server, p.Description, arguments(p.Arguments)})
						}
					}
					if err := f.printPrompts(t, list); err != nil {
						return err
					}
					return failedServers(s)
				})
		},
	}
	f.register(cmd, "print a JSON array of prompts")
	return cmd
}

// listedPrompt describes a prompt in mcp prompts --json.
type listedPrompt struct {
	Name        string           `json:"name"`
	Server      string           `json:"server"`
	Description string           `json:"description,omitempty"`
	Arguments   []listedArgument `json:"arguments"`
}

// listedArgument describes an argument of a prompt.
type listedArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// arguments returns the arguments of a prompt for the list.
func arguments(list []mcp.PromptArgument) []listedArgument {
	all := []listedArgument{}
	for _, a := range list {
		all = append(all, listedArgument(a))
	}
	return all
}

// printPrompts prints prompts as mcp tools prints tools.
func (f *mcpFlags) printPrompts(t terminal, list []listedPrompt) error {
	if f.json {
		return printJSON(t, list)
	}
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(t.out)
		}
		fmt.Fprintf(t.out, "/%s\n    %s\n", render.OneLine(p.Name), render.OneLine(p.Description))
		for _, a := range p.Arguments {
			optional := ", optional"
			if a.Required {
				optional = ""
			}
			fmt.Fprintf(t.out, "      %s (string%s): %s\n", render.OneLine(a.Name), optional,
				render.OneLine(a.Description))
		}
	}
	return nil
}

// failedServers returns an error that says which servers have failed.
func failedServers(s *attractor.ServerSetup) error {
	if err := s.Failed(); err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

func newMCPCall(t terminal) *cobra.Command {
	f := new(mcpFlags)
	var ruleFiles []string
	cmd := &cobra.Command{
		Use:   "call <server> <tool> <arguments>",
		Short: "Call a tool of an MCP server and print its result",
		Long: `Call starts a server, calls one of its tools and prints the result that a model would see. The tool is named as on the server, or as
mcp__SERVER__TOOL. The arguments are a JSON object. The exit code is 1 if the result is an error.

You ask for the call yourself, so nothing is asked. With --rules, a call that a rule of these files, of yours or of the project denies is
refused. Nobody answers questions of the server.`,
		Example: `  attractor mcp call everything echo '{"message": "hello"}'`,
		Args: takes(argument{"server", "to list the servers, run: attractor mcp list"},
			argument{"tool", "to list the tools, run: attractor mcp tools SERVER"},
			argument{"arguments", "pass them as a JSON object, such as {}"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !json.Valid([]byte(args[2])) {
				return fail(exitUsage, "the arguments are not valid JSON: %s", args[2])
			}
			return f.with(cmd.Context(), t, args[0], func(ctx context.Context, s *attractor.ServerSetup) error {
				if err := failedServers(s); err != nil {
					return err
				}
				return f.call(ctx, t, s, ruleFiles, args)
			})
		},
	}
	f.register(cmd, "print a JSON object with the text and the structured content of the result")
	cmd.Flags().StringArrayVar(&ruleFiles, "rules", nil,
		"refuse what the permission rules deny, also those in this `file`; can be repeated")
	return cmd
}

// call calls a tool of the server.
func (f *mcpFlags) call(ctx context.Context, t terminal, s *attractor.ServerSetup, ruleFiles, args []string) error {
	found, err := s.Servers.Tool(args[0], args[1])
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	registry, err := tool.NewRegistry(found)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	allowed, err := deniedBy(t, s.Local, ruleFiles)
	if err != nil {
		return err
	}
	call := llm.ToolCall{ID: "call_1", Name: found.Name, Args: args[2]}
	if f.json {
		return runTool(ctx, t, registry, s.Local, call, allowed, s.Secrets, printResult)
	}
	return runTool(ctx, t, registry, s.Local, call, allowed, s.Secrets, printOutcome)
}

// printResult prints a result as JSON.
func printResult(t terminal, outcome *tool.Outcome) error {
	return printJSON(t, struct {
		IsError    bool            `json:"is_error"`
		Text       string          `json:"text"`
		Structured json.RawMessage `json:"structured,omitempty"`
	}{outcome.IsError, outcome.Model.Text(), outcome.Structured})
}

// completeServers completes the name of a server, which is the first argument.
func (f *mcpFlags) completeServers(cmd *cobra.Command, args []string,
	_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || f.readSettings(cmd.Flags(), false) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return clean(attractor.ServerNames(f.named())), cobra.ShellCompDirectiveNoFileComp
}
