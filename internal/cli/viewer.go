package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/web"
)

// maxPort is the greatest number of a port.
const maxPort = 65535

func newViewer(t terminal) *cobra.Command {
	var port int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "view [id]",
		Short: "Show sessions in a browser",
		Long: `View serves a page on this machine that shows sessions while they run and afterwards: each step, tool call, output and change, what they cost
and where their time went. It prints the page's URL and serves until Ctrl-C. With an id, or the beginning of one, the page shows that session
first.

Only this machine can reach the page, and only with the token in its URL. The page changes nothing. To look at a session of a program that
runs elsewhere, forward the port: ssh -L 7070:127.0.0.1:7070 <machine> attractor view --port 7070`,
		Example: `  attractor view                 all sessions
  attractor view 7d0c            the session whose id begins with 7d0c
  attractor view --port 7070     always on the same port`,
		Args:              takesUpTo(1),
		ValidArgsFunction: completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			if port < 0 || port > maxPort {
				return usage(cmd, fmt.Errorf("--port must be from 1 to %d, or 0 for any that is free, not %d", maxPort,
					port))
			}
			dir, err := sessionStore()
			if err != nil {
				return err
			}
			id := ""
			if len(args) > 0 {
				if id, err = findSession(cmd.Context(), dir, args[0]); err != nil {
					return err
				}
			}
			return serveViewer(cmd.Context(), t, web.New(viewerOptions(dir, environmentSecrets())), port, id, asJSON)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on this `port`; 0 takes any that is free")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object with url, port and session")
	return cmd
}

// viewerOptions returns what the page shows: the sessions of a store.
func viewerOptions(store journal.Store, m *secret.Masker) web.Options {
	return web.Options{Store: store, Masker: m, Facts: knownFacts()}
}

// serveViewer prints the URL of the page and serves it until a signal comes.
func serveViewer(ctx context.Context, t terminal, viewer *web.Server, port int, id string, asJSON bool) error {
	ctx, signals := newStopper(ctx, t.err)
	defer signals.stop()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	l, err := web.Listen(ctx, port)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; without --port, any free one is taken", err)
	}
	if err != nil {
		return errors.Join(fail(exitFailed, "%w", err), viewer.Close())
	}
	if err := printURL(t, viewer.URL(l, id), l, id, asJSON); err != nil {
		return errors.Join(fail(exitFailed, "cannot print the URL: %w", err), l.Close(), viewer.Close())
	}
	if err := viewer.Serve(ctx, l); err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

// printURL prints the URL of the page.
func printURL(t terminal, url string, l net.Listener, id string, asJSON bool) error {
	if asJSON {
		return printJSON(t, struct {
			URL     string `json:"url"`
			Port    int    `json:"port"`
			Session string `json:"session,omitempty"`
		}{url, l.Addr().(*net.TCPAddr).Port, id})
	}
	fmt.Fprintln(t.err, "Open this page in a browser. Ctrl-C ends the viewer, not the sessions.")
	_, err := fmt.Fprintln(t.out, url)
	return err
}
