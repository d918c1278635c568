package agent_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/internal/soak"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

var soakFor = flag.Duration("soak", 0,
	"how long TestL9_Soak runs sessions with faults, kills and floods; at least some")

// Sessions with faults of providers, journals and hooks, with killed commands and processes, and
// with floods of output, processes and files come to their ends, and leave nothing behind.
func TestL9_Soak(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group := strings.HasPrefix(local.Confinement().Containment, env.ContainGroup)
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	soak.Run(t, soak.Config{For: *soakFor, Seed: seed.Number(t), Open: openSoak, Calls: soak.Calls(group),
		KillAny: true})
}

// openSoak starts or resumes a session of the soak with a real environment and a real provider.
func openSoak(ctx context.Context, l *soak.Life) (s *agent.Session, _ func() error, err error) {
	local, err := env.NewLocal(l.Dir, env.LocalOptions{EndAbandoned: true})
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{}
	done := func() error {
		transport.CloseIdleConnections()
		return local.Close()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: l.URL,
		HTTPClient: &http.Client{Transport: transport}, IdleTimeout: l.IdleTimeout})
	if err != nil {
		return nil, nil, err
	}
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile(), Env: local,
		ID:        l.ID,
		Subagents: &agent.Subagents{Journal: l.Store.Create}, Limits: agent.Limits{KeepOutputs: 1 << 20, Diffs: 10_000}}
	start := agent.New
	if l.Resume {
		start = agent.Resume
		o.Journal, err = l.Store.Open(ctx, l.ID)
	} else {
		o.Journal, err = l.Store.Create(ctx, l.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	l.Change(&o)
	if s, err = start(ctx, o); err != nil {
		return nil, nil, errors.Join(err, o.Journal.Close())
	}
	return s, done, nil
}
