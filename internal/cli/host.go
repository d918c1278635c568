package cli

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/undo"
)

// config returns the configuration that the flags choose. What files and variables choose is read
// with the session.
func (f *sessionFlags) config(given func(flag string) bool) (c attractor.Config, err error) {
	c = attractor.Config{Load: attractor.LoadUser | attractor.LoadProject, TrustProject: f.trustProject,
		Checks: f.chosenChecks(), EnvHelper: attractor.EnvHelper, MCPWait: -1}
	for _, v := range f.settings.Of(settings.PlaceFlag) {
		if v.Key != "no_journal" && v.Key != "mode" { // which are not among the settings below
			c.Set(v.Key, v.Origin.Name, v.Text...)
		}
	}
	if mode := f.settings.Get("mode"); mode == nil || mode.Origin.Place == settings.PlaceFlag {
		c.Mode = f.mode()
	}
	if c.Checkpoints, err = undo.UserDir(os.Getenv); err != nil {
		c.Checkpoints = "" // as without a place for sessions
	}
	if given("env-command") {
		if c.EnvCommand, err = splitWords(f.envCommand); err != nil {
			return c, fail(exitUsage, "--env-command: %w", err)
		}
	}
	c.Models, err = knownModels()
	return c, err
}

// keep names the store of sessions, if they are kept.
func (f *sessionFlags) keep(c *attractor.Config) error {
	if !f.keeps() {
		return nil
	}
	store, err := sessionStore()
	if err == nil {
		c.Store = store
	}
	return err
}

// open returns the configuration that the flags choose and that more adds to, once it is checked,
// and the log of --debug, which the caller closes.
func (f *sessionFlags) open(ctx context.Context, t terminal, given func(flag string) bool,
	more func(*attractor.Config) error) (attractor.Config, *debuglog.Log, error) {
	config, err := f.config(given)
	for _, step := range []func(*attractor.Config) error{f.keep, more, t.program.configure} {
		if err == nil {
			err = step(&config)
		}
	}
	if err != nil {
		return config, nil, err
	}
	if err := config.Check(ctx); err != nil {
		return config, nil, hostError(err)
	}
	log, err := openDebug(f.debug, t)
	if log != nil {
		config.Debug = log
	}
	return config, log, err
}

// serverFlag returns --base-url as it was given, with a space in front, or "". A session does not
// keep the URL, so the command that continues it has to name it: without it, the conversation would
// go to the vendor. A URL with a password is not repeated.
func (f *sessionFlags) serverFlag(given func(flag string) bool) string {
	if !given("base-url") {
		return ""
	}
	at := f.settings.Text("base_url")
	if u, err := url.Parse(at); err != nil || u.User != nil {
		return " --base-url URL"
	}
	return " --base-url " + shquote.Shown(at)
}

// windowFlag returns --context-window as it was given, with a space in front, or "". A session
// keeps the window of a model that the catalog lacks only.
func (f *sessionFlags) windowFlag(given func(flag string) bool) string {
	if !given("context-window") {
		return ""
	}
	return " --context-window " + f.settings.Text("context_window")
}

// forkPoint parses id or id@turn. Without a turn it returns 0.
func forkPoint(from string) (prefix string, turn int, err error) {
	prefix, number, cut := strings.Cut(from, "@")
	if !cut {
		return prefix, 0, nil
	}
	if turn, err = strconv.Atoi(number); err != nil || turn < 1 {
		return "", 0, fail(exitUsage,
			"--fork %s: the turn must be a number, from 1; to list the turns, run: attractor sessions show %s", from,
			prefix)
	}
	return prefix, turn, nil
}

// hostError returns the error with its exit code and a hint about the flag or command that helps.
func hostError(err error) error {
	for _, k := range []struct {
		kind error
		code int
		hint string
	}{
		{attractor.ErrFallback, exitAccess, ""},
		{attractor.ErrNoKey, exitAccess,
			"\nFor a server that needs no key, pass --provider ollama, or --provider openai-compatible and " +
				"--base-url. For a demo without a key, run: attractor demo"},
		{attractor.ErrNoServer, exitAccess, ", or pass --base-url"},
		{attractor.ErrNoProvider, exitAccess, "; pass one with --provider"},
		{attractor.ErrNoModel, exitUsage, "; pass one with --model"},
		{sessions.ErrNotFound, exitUsage, "; to list sessions, run: attractor sessions list"},
		{sessions.ErrNoStore, exitUsage, ", or pass --no-journal"},
		{attractor.ErrUnreachable, exitFailed, ""},
		{attractor.ErrServer, exitFailed,
			"\nTo see the servers, run: attractor mcp list. To go on without any, pass --no-mcp."},
		{attractor.ErrJournal, exitFailed, "\nTo run without keeping the session, pass --no-journal."},
		{agent.ErrNoTurn, exitUsage,
			"; pass --fork ID@TURN with a turn that attractor sessions show ID lists, or --fork ID for all turns"},
		{attractor.ErrConfig, exitUsage, ""},
	} {
		if errors.Is(err, k.kind) {
			return fail(k.code, "%w%s", err, k.hint)
		}
	}
	return fail(exitFailed, "%w", err)
}

// sessionStore returns the store of the user's sessions.
func sessionStore() (*journal.Dir, error) {
	dir, err := sessions.UserStore(os.Getenv)
	if err != nil {
		return nil, hostError(err)
	}
	return dir, nil
}

// findSession returns the id of the session for an id, or the beginning of one, that a user has
// given.
func findSession(ctx context.Context, dir *journal.Dir, prefix string) (string, error) {
	id, err := sessions.Find(ctx, dir, prefix)
	if err != nil {
		return "", hostError(err)
	}
	return id, nil
}

// readSession calls read with a session's journal, which may be in use.
func readSession(ctx context.Context, prefix string, read func(journal.Reader) error) error {
	dir, err := sessionStore()
	if err != nil {
		return err
	}
	id, err := findSession(ctx, dir, prefix)
	if err != nil {
		return err
	}
	r, err := dir.Read(ctx, id)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	return errors.Join(read(r), r.Close())
}
