package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/internal/version"
	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

// serveFlags holds the flags of serve.
type serveFlags struct {
	SessionFlags
	listen, tokens, cert, key, maxMode string
	hosts, roots                       []string
	behindProxy, json                  bool
	limits                             server.Limits
	grace                              time.Duration
}

// register adds the flags.
func (f *serveFlags) register(flags *pflag.FlagSet) {
	f.Register(flags)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0",
		"listen on this `address`; the port 0 is any free one. Elsewhere than on this machine it needs --tokens, "+
			"--host and TLS")
	flags.StringVar(&f.tokens, "tokens", "",
		"know the tokens in this `file`, one a line: a name, a token of at least 32 characters, and owner for the "+
			"one that sees all (default: one that is made and printed)")
	flags.StringArrayVar(&f.hosts, "host", nil, "answer to this `name` of the server, too; can be repeated")
	flags.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in this `file`")
	flags.StringVar(&f.key, "tls-key", "", "serve HTTPS with the key in this `file`")
	flags.BoolVar(&f.behindProxy, "behind-proxy", false,
		"a proxy in front of the server does TLS: without it, tokens and texts go over the network as they are")
	flags.StringArrayVar(&f.roots, "root", nil,
		"let sessions work in this `directory` and those in it (default: the current one); can be repeated")
	flags.StringVar(&f.maxMode, "max-mode", "",
		"let no session go beyond this `mode`: "+
			texts.Or(append([]string{string(permit.ModeReadOnly)}, permit.ModeNames()...))+
			" (default: accept-edits, or read-only with --read-only); full has to be chosen here")
	flags.IntVar(&f.limits.Sessions, "max-sessions", 32, "let a token have `n` sessions open at a time")
	flags.IntVar(&f.limits.Requests, "max-requests", 600, "let a token make `n` requests a minute")
	flags.IntVar(&f.limits.Watchers, "max-watchers", 64, "let a token watch `n` streams of events at a time")
	flags.Int64Var(&f.limits.Body, "max-body", 32<<20, "take requests of at most `n` bytes")
	flags.DurationVar(&f.grace, "grace", 30*time.Second,
		"at the end, wait this `duration` for inputs that run; they go on with the next start")
	flags.BoolVar(&f.json, "json", false, "print a JSON object with url, token and page")
}

func newServe(t terminal) *cobra.Command {
	f := new(serveFlags)
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve sessions over HTTP",
		Long: `Serve runs sessions for programs that reach it over HTTP: they create sessions, send inputs and answers, and watch events. It prints its URL
and a token, and serves until Ctrl-C or SIGTERM. The sessions go on after a restart. /openapi.json has the API, docs/server.md describes the server.

Only this machine can reach it unless --listen says otherwise. All sessions run as the user of the server: tokens keep programs apart, not
people. The flags say what a session may be; those of attractor run hold for each.

Exit codes:
  0      a signal has ended the server in order; its sessions go on with the next start
  1      it cannot listen or keep its sessions, or something failed while it ended
  2      the command line is wrong
  128+n  a second signal n has ended it at once`,
		Example: `  attractor serve --root ~/src
  attractor serve --root ~/src --sandbox workspace --max-mode full --budget-usd 5
  attractor serve --listen :8443 --tokens tokens.txt --host agents.example.org --tls-cert cert.pem --tls-key key.pem`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usage(cmd, err)
			}
			return f.serve(cmd.Context(), t, cmd.Flags())
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// check returns an error for flags of the server that contradict each other.
func (f *serveFlags) check() error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return fmt.Errorf("--listen must be an address with a port, such as 127.0.0.1:8080, not %q", f.listen)
	}
	ip := net.ParseIP(host)
	here := host == "localhost" || ip != nil && ip.IsLoopback()
	withTLS := f.cert != "" || f.key != ""
	_, wrong := permit.ParseFirstMode(f.maxMode)
	switch {
	case f.maxMode != "" && wrong != nil:
		return fmt.Errorf("--max-mode: %w", wrong)
	case withTLS && (f.cert == "" || f.key == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case here:
		return nil
	case f.tokens == "":
		return errors.New("--listen leads beyond this machine: name the file of the tokens with --tokens")
	case !withTLS && !f.behindProxy:
		return errors.New("--listen leads beyond this machine: pass --tls-cert and --tls-key, or --behind-proxy if a " +
			"proxy in front does TLS")
	case len(f.hosts) == 0:
		return errors.New("--listen leads beyond this machine: pass the name by which clients reach the server " +
			"with --host")
	}
	return nil
}

// options returns the options of the server, and the token that was made, if none were given.
func (f *serveFlags) options(ctx context.Context, t terminal,
	flags *pflag.FlagSet) (o server.Options, token string, err error) {
	config, err := f.Config(flags, true)
	if err == nil {
		config.Store, err = sessionStore()
	}
	if err == nil {
		err = t.program.configure(&config)
	}
	if err != nil {
		return o, "", err
	}
	if err := config.Check(ctx); err != nil {
		return o, "", hostError(err)
	}
	state, err := userfiles.StateDir(os.Getenv)
	if err != nil {
		return o, "", fail(exitFailed, "%w", err)
	}
	config.Mode, config.Budget = f.mode(), f.Budget()
	o = server.Options{Config: config, State: filepath.Join(state, "attractor", "server"), Roots: f.roots,
		MaxMode: permit.Mode(f.maxMode), Sandbox: f.sandboxOptions().Level, Hosts: f.hosts, BehindTLS: f.behindProxy,
		Limits: f.limits, Grace: f.grace, KeepRules: keepRules, Masker: environmentSecrets(),
		Version: version.Program(),
		Facts:   knownFacts(), Logger: slog.New(slog.NewTextHandler(t.err, nil))}
	if len(o.Roots) == 0 {
		o.Roots = []string{"."}
	}
	if config.Mode == permit.ModeReadOnly {
		o.MaxMode = permit.ModeReadOnly
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return o, "", fail(exitUsage, "--tls-cert, --tls-key: %w", err)
		}
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if f.tokens == "" {
		token = webguard.NewToken()
		o.Tokens = []server.Token{{Name: "owner", Token: token, Owner: true}}
	} else if o.Tokens, err = server.ReadTokens(f.tokens); err != nil {
		return o, "", fail(exitUsage, "--tokens: %w", err)
	}
	return o, token, nil
}

// serve serves until a signal.
func (f *serveFlags) serve(ctx context.Context, t terminal, flags *pflag.FlagSet) error {
	options, token, err := f.options(ctx, t, flags)
	if err != nil {
		return err
	}
	s, err := server.New(ctx, options)
	switch {
	case errors.Is(err, server.ErrInUse):
		return fail(exitFailed, "%w; one server at a time has the sessions of a user", err)
	case err != nil:
		return fail(exitUsage, "%w", err)
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write
	ctx, stopper := newStopper(ctx, t.err)
	defer stopper.stop()
	stopper.kills(s.KillNow)
	if missing := options.Config.CheckProvider(); missing != nil {
		fmt.Fprintf(t.err, "! A session that names no model cannot begin: %v\n", missing)
	}
	l, url, err := f.open(ctx)
	if err == nil {
		err = f.tell(t, url, token)
	}
	if err != nil {
		return errors.Join(fail(exitFailed, "%w", err), s.Close())
	}
	if err := s.Serve(ctx, l); err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

// open begins to listen, and returns the URL.
func (f *serveFlags) open(ctx context.Context) (l net.Listener, url string, err error) {
	var config net.ListenConfig
	if l, err = config.Listen(ctx, "tcp", f.listen); err != nil {
		return nil, "", err
	}
	if f.cert != "" {
		return l, "https://" + l.Addr().String(), nil
	}
	return l, "http://" + l.Addr().String(), nil
}

// tell prints where the server is, and its token if it has made one.
func (f *serveFlags) tell(t terminal, url, token string) error {
	page := url + "/"
	if token != "" {
		page += "#token=" + token
	}
	if f.json {
		return printJSON(t, struct {
			URL   string `json:"url"`
			Token string `json:"token,omitempty"`
			Page  string `json:"page"`
		}{url, token, page})
	}
	fmt.Fprintln(t.err, "The server runs. Ctrl-C ends it; its sessions go on with the next start.")
	text := "url " + url + "\n"
	if token != "" {
		text += "token " + token + "\n"
	}
	_, err := fmt.Fprint(t.out, text+"page "+page+"\n")
	return err
}
