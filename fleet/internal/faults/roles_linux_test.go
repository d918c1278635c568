package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

// setupVar turns the test binary into another program. It holds a setup, as JSON.
const setupVar = "FAULTS_SETUP"

// setup says what a process is and does.
type setup struct {
	Role   string           `json:"role"`
	Server natsfleet.Config `json:"server,omitzero"` // of a server
	// URL is the servers', Model the model's, and Dir where the process may write.
	URL, Model, Dir, Name string
	Slots, MaxDeaths      int
	TTL                   time.Duration
	Sessions              []string // of a program without a fleet
}

// token is the operator's secret.
const token = "a-secret-of-sixteen-bytes-or-more"

// exitLost is the exit code of a worker whose lease was lost.
const exitLost = 3

func TestMain(m *testing.M) {
	if text := os.Getenv(setupVar); text != "" {
		os.Exit(play(text))
	}
	orphans.Adopt() // the commands of killed workers become this process's
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// play runs this binary as another program, until SIGTERM, and returns its exit code.
func play(text string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var s setup
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = map[string]func(context.Context, setup) error{"server": serve, "worker": work,
			"alone": alone}[s.Role](ctx, s)
	}
	switch {
	case errors.Is(err, fleet.ErrLost):
		fmt.Fprintln(os.Stderr, err)
		return exitLost
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve runs a server. It prints the traffic when it ends.
func serve(ctx context.Context, s setup) error {
	s.Server.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := natsfleet.StartServer(ctx, s.Server)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	traffic, err := server.Traffic()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(traffic)
	}
	return errors.Join(err, server.Close())
}

// work runs a worker.
func work(ctx context.Context, s setup) error {
	engine, err := natsfleet.Open(ctx, s.URL, natsfleet.OpenOptions{Token: token, Name: s.Name})
	if err != nil {
		return err
	}
	spaces, err := workspace.New(workspace.Options{Dir: s.Dir})
	if err != nil {
		return err
	}
	options, err := s.options()
	if err != nil {
		return err
	}
	w := &fleet.Worker{Engine: engine, Name: s.Name, Slots: s.Slots, TTL: s.TTL, MaxDeaths: s.MaxDeaths,
		Workspaces: spaces,
		Host:       fleet.Sessions(func(context.Context, *fleet.Job) (agent.Options, error) { return options, nil }),
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, nil))}
	return errors.Join(w.Run(ctx), engine.Close())
}

// options returns what all sessions have, in a fleet or without one.
func (s setup) options() (agent.Options, error) {
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: s.Model,
		HTTPClient: &http.Client{Transport: new(http.Transport)}})
	return agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile()}, err
}

// alone runs sessions as a program without a fleet does, as many at once as a worker: with a synced
// journal and a directory for each.
func alone(ctx context.Context, s setup) error {
	store := journal.NewDir(filepath.Join(s.Dir, "journals"))
	slots := make(chan struct{}, s.Slots)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, id := range s.Sessions {
		slots <- struct{}{}
		all.Go(func() {
			if err := s.session(ctx, store, id); err != nil {
				mu.Lock()
				failed = errors.Join(failed, fmt.Errorf("%s: %w", id, err))
				mu.Unlock()
			}
			<-slots
		})
	}
	all.Wait()
	return failed
}

// session runs one session to its end.
func (s setup) session(ctx context.Context, store journal.Store, id string) error {
	dir := filepath.Join(s.Dir, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		return err
	}
	o, err := s.options()
	if err != nil {
		return errors.Join(err, local.Close())
	}
	o.ID, o.Env = id, local
	if o.Journal, err = store.Create(ctx, id); err != nil {
		return errors.Join(err, local.Close())
	}
	session, err := agent.New(ctx, o)
	if err != nil {
		return errors.Join(err, o.Journal.Close(), local.Close())
	}
	result, err := session.Submit(ctx, promptOf(id))
	if err == nil && !strings.Contains(result.Text, done) {
		err = fmt.Errorf("it ended with %q", result.Text)
	}
	return errors.Join(err, session.Close(), local.Close())
}
