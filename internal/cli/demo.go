package cli

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	claude "github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/web"
)

// demoDelay is the pause between two pieces of the model's text, so that one can watch it arrive.
const demoDelay = 15 * time.Millisecond

// demoFlags holds the flags of demo.
type demoFlags struct {
	dir, html, debug string
	json             bool
}

func newDemo(t terminal) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a demo session, without an API key",
		Long: `Demo creates a small git repository with a failing test, and runs a session that fixes it. Only the model is
scripted: it is a server on this machine. The session talks to it over HTTP, edits real files and runs real commands.

Demo needs git and a POSIX shell. It needs no API key and no network.`,
		Example: "  attractor demo --html demo.html",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("html") && f.html == "" {
				return fail(exitUsage, "--html needs the name of a file")
			}
			return f.run(cmd.Context(), t)
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", "",
		"create the repository in this empty or new `directory`, and keep it (default: a temporary one)")
	cmd.Flags().StringVar(&f.html, "html", "",
		"write the session as a page for a browser to this `file`, as attractor sessions export does")
	cmd.Flags().BoolVar(&f.json, "json", false, "print events as JSON, one per line")
	cmd.Flags().StringVar(&f.debug, "debug", "", debugHelp)
	return cmd
}

func (f *demoFlags) run(ctx context.Context, t terminal) (err error) {
	debug, err := openDebug(f.debug, t)
	if err != nil {
		return err
	}
	defer closeDebug(debug, t)
	dir := f.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "attractor-demo-"); err != nil {
			return fail(exitFailed, "%w", err)
		}
		defer func() {
			if rmErr := os.RemoveAll(dir); rmErr != nil && err == nil {
				err = fail(exitFailed, "cannot remove the directory of the demo: %w", rmErr)
			}
		}()
	}
	if err := makeDemoRepository(ctx, dir); err != nil {
		return err
	}
	url, stop, err := serveDemoModel()
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	defer stop()
	if !f.json {
		fmt.Fprintf(t.err, "The task: %s\nThe model is scripted; files, commands and HTTP are real.\n\n", demoTask)
	}
	if err := f.session(ctx, t, dir, url, debug); err != nil {
		return err
	}
	return checkDemo(ctx, t, dir, f.json)
}

// session runs the session in the directory, with the model at the URL, and writes its page.
func (f *demoFlags) session(ctx context.Context, t terminal, dir, url string, debug *debuglog.Log) error {
	secrets := environmentSecrets()
	provider, err := anthropic.New(anthropic.Options{APIKey: "demo", BaseURL: url, HTTPClient: debug.Client(secrets)})
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{Environ: demoEnviron()})
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	store, id := journal.NewMemoryStore(false), "demo"
	log, err := store.Create(ctx, id)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	t, last := withLastLine(t, !f.json, os.Getenv)
	opts := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile(),
		Env: local, ID: id, Journal: log, Limits: agent.Limits{Diffs: attractor.DefaultLimits().Diffs}}
	if debug != nil {
		opts.Logger = debug.Logger(secrets)
		debuglog.Attach(&opts)
		debug.Tell(func(text string) { warn(t.err, text) })
	}
	running, stopper := newStopper(ctx, t.err)
	defer stopper.stop()
	var config attractor.Config
	if err := t.program.configure(&config); err != nil {
		return err
	}
	r := runner{terminal: t, Setup: &attractor.Setup{Options: opts, Local: local, Instrument: config.Instrument},
		stopper: stopper, json: f.json, last: last, inMemory: true}
	if err := r.run(running, demoTask); err != nil || f.html == "" {
		return err
	}
	if err := exportTo(ctx, t, store, id, f.html, web.ExportOptions{Masker: secrets}); err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

// makeDemoRepository writes the project and commits it, so that a diff shows what the session
// changed.
func makeDemoRepository(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(exitUsage, "cannot create the directory of the demo: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fail(exitUsage, "cannot read the directory of the demo: %w", err)
	}
	if len(entries) > 0 {
		return fail(exitUsage, "%s is not empty; the demo needs an empty or a new directory", dir)
	}
	files, err := fs.Sub(demoRepository, "demo")
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fail(exitFailed, "cannot write the files of the demo: %w", err)
	}
	for _, args := range [][]string{{"init", "--quiet", "--template="}, {"add", "."},
		{"-c", "user.name=Attractor", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "-c",
			"core.hooksPath=/dev/null", "commit", "--quiet", "-m", "A slug function"}} {
		cmd := command(ctx, dir, "git", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fail(exitFailed, "the demo needs git; git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// demoEnviron returns the environment without git's variables, which could point git to another
// repository or make it run something.
func demoEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}

// command returns a command that runs in the demo's directory.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = demoEnviron()
	return cmd
}

// serveDemoModel starts the scripted model on a port of the loopback interface.
func serveDemoModel() (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: fakellm.New(demoModel, fakellm.Options{Delay: demoDelay})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() {
		server.Close() // its clients are gone
		<-served
	}, nil
}

// checkDemo runs the test, because what a session says is not proof, and shows the diff.
func checkDemo(ctx context.Context, t terminal, dir string, quiet bool) error {
	test := command(ctx, dir, "sh", "slug_test.sh")
	if out, err := test.CombinedOutput(); err != nil {
		return fail(exitFailed, "the session ended, but the test still fails:\n%s", out)
	}
	if quiet {
		return nil
	}
	colour := "--color=never"
	if isTerminal(t.err) && os.Getenv("NO_COLOR") == "" {
		colour = "--color=always"
	}
	diff := command(ctx, dir, "git", "--no-pager", "diff", colour)
	out, err := diff.CombinedOutput()
	if err != nil {
		return fail(exitFailed, "cannot show the diff: %w\n%s", err, out)
	}
	fmt.Fprintf(inForm(t.err, sanitize.Coloured), "\nThe test passes now. What the session changed:\n\n%s", out)
	return nil
}
