package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/version"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/sessions"
)

func newACP(t terminal) *cobra.Command {
	f, dir := new(sessionFlags), ""
	cmd := &cobra.Command{
		Use:   "acp [flags]",
		Short: "Run sessions for an editor (Agent Client Protocol)",
		Long: `Acp runs sessions for an editor that speaks the Agent Client Protocol (agentclientprotocol.com). The editor starts
it, and they talk over standard input and output. Logs go to standard error.

The editor needs to know the command, and a variable with an API key: ` + texts.Or(providers.Variables()) + `.

Zed, in settings.json:
  {"agent_servers": {"Attractor": {"type": "custom", "command": "attractor", "args": ["acp"], "env": {"ANTHROPIC_API_KEY": "..."}}}}

JetBrains, in ~/.jetbrains/acp.json:
  {"agent_servers": {"Attractor": {"command": "attractor", "args": ["acp"], "env": {"ANTHROPIC_API_KEY": "..."}}}}

Neovim with CodeCompanion:
  require("codecompanion").setup({adapters = {acp = {attractor = function()
    return require("codecompanion.adapters").extend("opencode", {name = "attractor", formatted_name = "Attractor", commands = {default = {"attractor", "acp"}}})
  end}}})

Neovim with avante.nvim:
  require("avante").setup({provider = "attractor", acp_providers = {attractor = {command = "attractor", args = {"acp"}}}})

Before a tool call changes or runs anything, the editor asks, unless a permission rule decides (attractor rules
--help). Sessions are kept as those of attractor run are, and can be continued by either.

Exit codes:
  0      the editor has closed the connection
  1      the connection failed, or a session could not be closed in order
  2      the command line is wrong
  128+n  the signal n ended the command`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.readSettings(cmd.Flags(), false); err != nil {
				return err
			}
			return f.serveACP(cmd.Context(), t, dir, cmd.Flags().Changed)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&dir, "dir", "",
		"with --env-command: begin sessions in this `directory` there (default: the one in which the command starts)")
	return cmd
}

// serveACP serves the editor on the standard streams.
func (f *sessionFlags) serveACP(ctx context.Context, t terminal, dir string, given func(string) bool) error {
	if err := f.check(given); err != nil {
		return err
	}
	config, log, err := f.open(ctx, t, given, func(c *attractor.Config) error {
		if c.Dir = dir; dir != "" && len(c.EnvCommand) == 0 {
			return fail(exitUsage, "--dir needs --env-command: without one, the editor chooses the directory of "+
				"each session")
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer closeDebug(log, t)
	if in, _ := bothTerminals(t); in != nil {
		fmt.Fprintln(t.err, "attractor: acp waits for the messages of an editor, which has to start it (attractor "+
			"acp --help); Ctrl-D ends it")
	}
	signal.Ignore(syscall.SIGPIPE) // an editor that is gone is an error of the write
	ctx, stopper := newStopper(ctx, t.err)
	defer stopper.stop()
	e := &editor{sessionFlags: f, config: config, log: log, terminal: t, opened: map[*attractor.Setup]bool{}}
	stopper.kills(e.killNow)
	err = e.agent().Serve(ctx, t.in, t.out)
	if code := stopper.stop(); code != 0 {
		return &exitError{code: code, err: errors.New("stopped by a signal")}
	}
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

// editor opens the sessions of an editor.
type editor struct {
	*sessionFlags
	terminal
	config attractor.Config
	log    *debuglog.Log // nil without --debug

	mu     sync.Mutex
	opened map[*attractor.Setup]bool
}

// note notes a session that is open.
func (e *editor) note(s *attractor.Setup) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened[s] = true
}

// close closes the Setup of a session and forgets it.
func (e *editor) close(s *attractor.Setup) error {
	err := s.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.opened, s)
	return err
}

// killNow kills what the sessions run.
func (e *editor) killNow() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for s := range e.opened {
		errs = append(errs, s.KillNow())
	}
	return errors.Join(errs...)
}

// keyMethod is the id of the only way to authenticate.
const keyMethod = "environment"

// agent returns what the editor can run.
func (e *editor) agent() *acp.Agent {
	a := &acp.Agent{Name: "attractor", Title: "Attractor", Version: version.Program(), Open: e.open, Dirs: true,
		RemoteServers: true,
		Auth: []acp.AuthMethod{{ID: keyMethod, Name: "API key in the environment",
			Description: "Set " + texts.Or(providers.Variables()) +
				" in the environment of the agent, in the editor's settings, and restart it."}},
		Authenticate: e.authenticate}
	if e.config.Store != nil {
		a.Resumes, a.List, a.Delete = true, e.list, e.remove
	}
	a.Logger = e.log.Logger(environmentSecrets())
	return a
}

// authenticate checks that there is a key.
func (e *editor) authenticate(context.Context, string) error {
	if kind, err := providers.Find(e.settings.Text("provider")); err == nil && kind.Local { // it needs none
		return nil
	}
	for _, name := range providers.Variables() {
		if os.Getenv(name) != "" {
			return nil
		}
	}
	if e.config.CheckProvider() == nil { // of the program's or the user's own
		return nil
	}
	return acp.Errorf(acp.CodeAuthRequired,
		"there is no API key: set %s in the environment of the agent, in the editor's settings, and restart it",
		texts.Or(providers.Variables()))
}

// editorError returns an error of a session that cannot be opened, as the editor gets it.
func editorError(err error) error {
	code := acp.CodeInternal
	switch {
	case errors.Is(err, attractor.ErrNoKey), errors.Is(err, attractor.ErrNoProvider),
		errors.Is(err, attractor.ErrNoServer), errors.Is(err, attractor.ErrFallback):
		code = acp.CodeAuthRequired
	case errors.Is(err, sessions.ErrNotFound):
		code = acp.CodeNotFound
	case errors.Is(err, attractor.ErrConfig), errors.Is(err, attractor.ErrNoModel):
		code = acp.CodeInvalidParams
	}
	return acp.Errorf(code, "%s", render.Error(environmentSecrets().String(strings.TrimSpace(err.Error()))))
}
