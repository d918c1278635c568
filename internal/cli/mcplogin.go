package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
)

func newMCPLogin(t terminal) *cobra.Command {
	f := new(mcpFlags)
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login <server>",
		Short: "Log in at a remote MCP server",
		Long: `Login lets you log in at a remote MCP server with OAuth. It prints a URL and opens it in your browser. When you have approved there, the
browser comes back to this program, which keeps the tokens in $XDG_STATE_HOME/attractor/mcp/tokens, or in ~/.local/state if XDG_STATE_HOME is
not set. Sessions use and refresh them, and never log in by themselves.

If the browser runs on another machine, it ends at a page that it cannot show. Copy the URL of that page and paste it here.`,
		Example: `  attractor mcp login linear
  attractor mcp login linear --no-browser     only print the URL`,
		Args: takes(argument{"server", "to list the servers, run: attractor mcp list"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, tokens, err := f.remote(args[0])
			if err != nil {
				return err
			}
			return logIn(cmd.Context(), t, s, tokens, noBrowser)
		},
	}
	f.registerFiles(cmd)
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the URL and open no browser")
	return cmd
}

func newMCPLogout(t terminal) *cobra.Command {
	f := new(mcpFlags)
	cmd := &cobra.Command{
		Use:   "logout <server>",
		Short: "Revoke and forget the login at a remote MCP server",
		Long: "Logout revokes the tokens for a remote MCP server, if its authorization server can do that, and " +
			"forgets them in any case.",
		Args: takes(argument{"server", "to list the servers, run: attractor mcp list"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, tokens, err := f.remote(args[0])
			if err != nil {
				return err
			}
			err = mcp.LogOut(cmd.Context(), s, mcp.LoginOptions{Tokens: tokens})
			if errors.Is(err, mcp.ErrNoLogin) {
				return fail(exitFailed, "%w; to log in, run: attractor mcp login %s", err, shquote.Shown(s.Name))
			}
			if err != nil {
				return fail(exitFailed, "%w", err)
			}
			fmt.Fprintf(t.out, "The login at %s is revoked and forgotten.\n", render.OneLine(s.Name))
			return nil
		},
	}
	f.registerFiles(cmd)
	return cmd
}

// remote returns the remote server with a name, and the logins of the user.
func (f *mcpFlags) remote(name string) (s mcp.Server, tokens *mcp.FileTokens, err error) {
	if s, err = attractor.FindServer(f.named(), name); err != nil {
		return s, nil, hostError(err)
	}
	if s.URL == "" {
		return s, nil, fail(exitUsage, "the MCP server %s is a program on this machine, which needs no login", s.Name)
	}
	if tokens, err = load.MCPTokens(os.Getenv); err != nil {
		return s, nil, hostError(err)
	}
	return s, tokens, nil
}

// logIn lets the user log in with a browser here, or on another machine.
func logIn(ctx context.Context, t terminal, s mcp.Server, tokens *mcp.FileTokens, noBrowser bool) error {
	o := mcp.LoginOptions{Tokens: tokens, Show: func(url string) {
		fmt.Fprintf(t.err, "To log in at %s, open this URL in a browser:\n\n  %s\n\n", render.OneLine(s.Name),
			render.OneLine(url))
	}}
	if !noBrowser {
		o.Open = openBrowser
	}
	if c := openConsole(t); c != nil {
		defer c.Close() // it was only read
		o.Paste = func(ctx context.Context) (string, error) {
			return c.ask(ctx, "Waiting for the browser. If it runs on another machine, paste the URL at which "+
				"it ended: ")
		}
	}
	if err := mcp.LogIn(ctx, s, o); err != nil {
		return fail(exitFailed, "%w", err)
	}
	fmt.Fprintf(t.out, "You are logged in at %s.\n", render.OneLine(s.Name))
	return nil
}
