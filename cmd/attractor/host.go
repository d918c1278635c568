package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/journal"
)

// config returns the configuration that the flags choose.
func (f *sessionFlags) config(given func(flag string) bool) (c host.Config, err error) {
	c = host.Config{Mode: f.chosenMode(), AddDirs: f.addDirs, AllowTools: f.allowTools, DenyTools: f.denyTools, Profile: f.profile, BaseURL: f.baseURL, Web: f.web, IdleTimeout: f.idleTimeout, Instructions: f.instructions,
		Rules: f.rules, MCP: f.mcp, NoMCP: f.noMCP, NoHooks: f.noHooks, StrictHooks: f.strictHooks, LanguageServers: f.lsp, TrustProject: f.trustProject, Limits: f.limits.Limits}
	if c.Sandbox, err = f.sandbox.options(); err != nil {
		return c, err
	}
	if given("provider") {
		c.Provider = &f.provider
	}
	if given("model") {
		c.Model = &f.model
	}
	if given("effort") {
		c.Effort = &f.effort
	}
	if given("native") {
		c.Native = &f.native
	}
	if c.Fallbacks, err = f.fallbackModels(); err != nil {
		return c, err
	}
	if f.noJournal {
		return c, nil
	}
	c.Store, err = sessionStore()
	return c, err
}

// fallbackModels returns the models that --fallback names, nil where it is not given.
func (f *sessionFlags) fallbackModels() (models []agent.FallbackModel, err error) {
	for _, name := range f.fallbacks {
		provider, model, ok := strings.Cut(name, "/")
		if !ok || provider == "" || model == "" {
			return nil, fail(exitUsage, "--fallback must be a provider and a model, such as openai/gpt-6.1-sol, not %q", name)
		}
		models = append(models, agent.FallbackModel{Provider: provider, Model: model})
	}
	return models, nil
}

// forkPoint parses id or id@turn. Without a turn it returns 0.
func forkPoint(from string) (prefix string, turn int, err error) {
	prefix, number, cut := strings.Cut(from, "@")
	if !cut {
		return prefix, 0, nil
	}
	if turn, err = strconv.Atoi(number); err != nil || turn < 1 {
		return "", 0, fail(exitUsage, "--fork %s: the turn must be a number, from 1; to list the turns, run: attractor sessions show %s", from, prefix)
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
		{host.ErrFallback, exitAccess, ""},
		{host.ErrNoKey, exitAccess, "\nFor a server that needs no key, pass --provider and --base-url. For a demo without a key, run: attractor demo"},
		{host.ErrNoServer, exitAccess, ", or pass --base-url"},
		{host.ErrNoProvider, exitAccess, "; pass one with --provider"},
		{host.ErrNoModel, exitUsage, "; pass one with --model"},
		{host.ErrNoSession, exitUsage, "; to list sessions, run: attractor sessions list"},
		{host.ErrNoStore, exitUsage, ", or pass --no-journal"},
		{host.ErrServer, exitFailed, "\nTo see the servers, run: attractor mcp list. To go on without any, pass --no-mcp."},
		{host.ErrJournal, exitFailed, "\nTo run without keeping the session, pass --no-journal."},
		{host.ErrConfig, exitUsage, ""},
	} {
		if errors.Is(err, k.kind) {
			return fail(k.code, "%w%s", err, k.hint)
		}
	}
	return fail(exitFailed, "%w", err)
}

// sessionStore returns the store of the user's sessions.
func sessionStore() (*journal.Dir, error) {
	dir, err := host.UserStore(os.Getenv)
	if err != nil {
		return nil, hostError(err)
	}
	return dir, nil
}

// findSession returns the id of the session for an id, or the beginning of one, that a user has given.
func findSession(ctx context.Context, dir *journal.Dir, prefix string) (string, error) {
	id, err := host.Find(ctx, dir, prefix)
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

// shortID returns the beginning of a UUID, which usually identifies a session.
func shortID(id string) string {
	if len(id) > 8 && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return id
}
