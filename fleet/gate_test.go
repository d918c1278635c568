package fleet

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// fixedLease is a lease with an end that the test sets.
type fixedLease struct {
	Lease
	until time.Time
}

func (l *fixedLease) Until() time.Time { return l.until }

func openGate() (*gate, *fixedLease) {
	lease := &fixedLease{until: time.Now().Add(time.Hour)}
	g := &gate{lease: lease}
	g.extend(time.Now().Add(time.Hour))
	return g, lease
}

func TestP4_GateEndsWithLeaseAndClaim(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*gate, *fixedLease){
		"lease": func(_ *gate, l *fixedLease) { l.until = time.Now().Add(-time.Millisecond) },
		"claim": func(g *gate, _ *fixedLease) { g.extend(time.Now().Add(-time.Millisecond)) },
		"close": func(g *gate, _ *fixedLease) { g.close() },
	} {
		g, lease := openGate()
		if !g.open() {
			t.Fatalf("%s: the gate is closed before", name)
		}
		end(g, lease)
		if g.open() {
			t.Errorf("%s: the gate is open", name)
		}
		lease.until = time.Now().Add(time.Hour)
		g.extend(time.Now().Add(time.Hour))
		if g.open() {
			t.Errorf("%s: the gate was opened again", name)
		}
	}
}

func TestP4_ClosedGateLetsNothingThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	ctx := context.Background()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	g, _ := openGate()
	e := g.environment(local)
	effects := map[string]func() error{
		"start": func() error { _, err := e.Start(ctx, env.Command{Script: "touch started"}); return err },
		"write": func() error { return e.WriteFile(ctx, "w", nil, 0o644) },
		"replace": func() error {
			return env.Replace(ctx, e, "f", env.HashOf([]byte("x")), []byte("y"), 0o644)
		},
		"delete":  func() error { return env.Delete(ctx, e, "f", env.HashOf([]byte("x"))) },
		"remove":  func() error { return e.Remove(ctx, "f") },
		"symlink": func() error { return env.TreeOf(e).Symlink(ctx, "f", "l") },
		"mkdir":   func() error { return env.TreeOf(e).Mkdir(ctx, "d", 0o755) },
		"chmod":   func() error { return env.TreeOf(e).Chmod(ctx, "f", 0o600) },
	}
	ran := false
	runs := g.tools([]tool.Tool{{Run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Result{}, nil
	}}})[0].Run
	log := g.log(journal.NewMemory())
	if _, err := runs(ctx, nil); err != nil || !ran {
		t.Fatalf("a tool behind the open gate: %v", err)
	}
	if err := errors.Join(log.Append(ctx, 1, journal.Record{Kind: "a"}), effects["write"](),
		os.Remove(filepath.Join(dir, "w"))); err != nil {
		t.Fatalf("behind the open gate: %v", err)
	}
	g.close()
	ran = false
	for name, effect := range effects {
		if err := effect(); !errors.Is(err, errClosedGate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := runs(ctx, nil); !errors.Is(err, errClosedGate) || ran {
		t.Errorf("a tool ran: %v", err)
	}
	if err := log.Append(ctx, 2, journal.Record{Kind: "a"}); !errors.Is(err, journal.ErrConflict) || log.Len() != 1 {
		t.Errorf("a record was written: %v", err)
	}
	handler := g.middleware(func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Result{},
			nil
	})
	if _, err := handler(ctx, new(tool.Call)); !errors.Is(err, tool.ErrNotBegun) || ran {
		t.Errorf("a call began: %v", err)
	}
	if f, err := e.Open(ctx, "f"); err != nil {
		t.Errorf("reading: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has changed: %v, %v", entries, err)
	}
}

func TestP6_SharesByWeight(t *testing.T) {
	t.Parallel()
	s := newShares(time.Second)
	s.set(map[string]*Space{}, []Tenant{{Name: "a", Weight: 5}, {Name: "b", Weight: 2}, {Name: "c"},
		{Name: "empty", Weight: 100}})
	got, asked := map[string]int{}, 0
	for range 2000 {
		sh, wait, _ := s.next()
		if sh == nil || wait <= 0 {
			t.Fatal("nobody's turn")
		}
		has := sh.tenant.Name != "empty"
		if s.done(sh, has); has {
			got[sh.tenant.Name]++
		} else {
			asked++
		}
	}
	total := float64(got["a"] + got["b"] + got["c"])
	for name, share := range map[string]float64{"a": 5. / 8, "b": 2. / 8, "c": 1. / 8} {
		if math.Abs(float64(got[name])/total-share) > 0.02 {
			t.Errorf("%s has %d of %v turns", name, got[name], total)
		}
	}
	// the tenant without tasks is asked between the turns of the others, and never twice in a row
	if asked > 1001 || asked < 500 {
		t.Errorf("the tenant without tasks was asked %d times", asked)
	}
	// One that comes back has saved up nothing.
	sh := s.list[3]
	for range 2 {
		if sh, _, _ = s.next(); sh.tenant.Name == "empty" {
			break
		}
		s.done(sh, true)
	}
	s.done(sh, true)
	row := 0
	for range 300 {
		sh, _, _ := s.next()
		if s.done(sh, true); sh.tenant.Name != "empty" {
			row++
		}
	}
	if row < 10 {
		t.Errorf("the tenant that came back took %d of 300 turns", 300-row)
	}
}

func TestP3_TaskCheck(t *testing.T) {
	t.Parallel()
	if err := (Task{ID: "t", Prompt: "Do it.", Repo: &Repo{URL: "https://example.com/a.git", Ref: "main"},
		Artifacts: []string{"dist/**"}}).Check(); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"ssh://git@example.com/a", "git@example.com:a/b.git"} {
		if err := (Task{ID: "t", Prompt: "x", Repo: &Repo{URL: url}}).Check(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	long := make([]byte, mostTask)
	for i := range long {
		long[i] = 'x'
	}
	for field, task := range map[string]Task{
		"id":              {ID: "../x", Prompt: "x"},
		"prompt":          {ID: "t", Prompt: " \n"},
		"dir":             {ID: "t", Prompt: "x", Dir: "here"},
		"repo.url":        {ID: "t", Prompt: "x", Repo: &Repo{URL: "ext::sh -c touch% /x"}},
		"repo.ref":        {ID: "t", Prompt: "x", Repo: &Repo{URL: "https://h/a", Ref: "--upload-pack=x"}},
		"repo.credential": {ID: "t", Prompt: "x", Repo: &Repo{URL: "https://h/a", Credential: "a\nb"}},
		"artifacts":       {ID: "t", Prompt: "x", Artifacts: []string{"[a"}},
		"include":         {ID: "t", Prompt: "x", Include: []string{""}},
		"labels":          {ID: "t", Prompt: "x", Labels: map[string]string{"": "x"}},
		"budget":          {ID: "t", Prompt: "x", Budget: Budget{USD: -1}},
		"agent.max_turns": {ID: "t", Prompt: "x", Agent: Spec{MaxTurns: -1}},
		"agent.schema":    {ID: "t", Prompt: "x", Agent: Spec{Schema: []byte(`[1]`)}},
		"agent.checks":    {ID: "t", Prompt: "x", Agent: Spec{Checks: []string{" "}}},
		"agent.model":     {ID: "t", Prompt: "x", Agent: Spec{Model: "a\x00"}},
		"task":            {ID: "t", Prompt: string(long)},
	} {
		err := task.Check()
		var all interface{ Unwrap() []error }
		if err == nil || !errors.As(err, &all) || len(all.Unwrap()) != 1 || !strings.HasPrefix(err.Error(),
			field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, url := range []string{"http://h/a", "file:///a", "/a", "", "https://user:word@h/a", "https://token@h/a",
		"-a@h:b", "git@-oProxy=x:a", "a@h:b\n"} {
		if err := (Task{ID: "t", Prompt: "x", Repo: &Repo{URL: url}}).Check(); err == nil {
			t.Errorf("%q is allowed", url)
		}
	}
	if err := (Task{ID: "/", Prompt: "x"}).Check(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an id that names no journal: %v", err)
	}
}

// TestP6_TenantsChange reads a tenant while its limits change.
func TestP6_TenantsChange(t *testing.T) {
	t.Parallel()
	s := newShares(time.Second)
	s.set(nil, []Tenant{{Name: "a"}})
	sh, _, _ := s.next()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.set(nil, []Tenant{{Name: "a", Limit: 7}})
	}()
	if name := s.tenant(sh).Name; name != "a" {
		t.Errorf("the tenant is %q", name)
	}
	<-done
	if limit := s.tenant(sh).Limit; limit != 7 {
		t.Errorf("its limit is %d", limit)
	}
}

// TestP4_ClosedGateStoresNoArtifact has an owner that learns in the middle of its artifacts that it
// is none any more.
func TestP4_ClosedGateStoresNoArtifact(t *testing.T) {
	t.Parallel()
	g, _ := openGate()
	g.close()
	c := &collection{job: &Job{gate: g}}
	err := c.store(t.Context(), "a", func() (io.ReadCloser, error) {
		t.Error("the file was opened")
		return nil, io.EOF
	})
	if err == nil || c.found != nil {
		t.Errorf("stored: %v, %v", c.found, err)
	}
}

// half is an environment with a directory that cannot be read.
type half struct{ env.Environment }

func (half) ReadDir(_ context.Context, name string) ([]env.Info, error) {
	if name == "." {
		return []env.Info{{Name: "a", Mode: fs.ModeDir}, {Name: "b.txt"}}, nil
	}
	return nil, fs.ErrPermission
}

// TestP5_ArtifactsBesideWhatCannotBeRead looks for the artifacts behind a directory that cannot be
// read, too.
func TestP5_ArtifactsBesideWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	g, _ := openGate()
	g.close() // so that what is found is not stored, which is said
	var log strings.Builder
	c := &collection{env: half{}, job: &Job{gate: g, log: slog.New(slog.NewTextHandler(&log, nil)),
		Task: Task{Artifacts: []string{"**/*.txt"}}}}
	if err := c.walk(t.Context(), "."); err != nil {
		t.Error(err)
	}
	if !strings.Contains(c.missing, "a: permission denied") || !strings.Contains(log.String(), "what=b.txt") {
		t.Errorf("left out: %s; the log:\n%s", c.missing, &log)
	}
}

// someTenants is an engine whose tenants cannot all be opened.
type someTenants struct {
	Engine
	all    []Tenant
	broken string
	opened int
}

func (e *someTenants) Tenants(context.Context) ([]Tenant, error) { return e.all, nil }

func (e *someTenants) Open(_ context.Context, tenant string) (*Space, error) {
	if tenant == e.broken {
		return nil, errors.New("its account is broken")
	}
	e.opened++
	return &Space{}, nil
}

// TestP6_TenantsDoNotHoldUpEachOther has a tenant that cannot be opened, and one that is gone,
// beside two others.
func TestP6_TenantsDoNotHoldUpEachOther(t *testing.T) {
	t.Parallel()
	e := &someTenants{all: []Tenant{{Name: "a"}, {Name: "b"}, {Name: "c", Limit: 3}, {Name: "other"}}, broken: "b"}
	r := &running{Worker: Worker{Engine: e, Tenants: []string{"gone", "a", "b", "c"}}, spaces: map[string]*Space{},
		shares: newShares(time.Second)}
	err := r.loadTenants(t.Context())
	if err == nil || !strings.Contains(err.Error(), `no tenant "gone"`) || !strings.Contains(err.Error(),
		"tenant b: its account is broken") {
		t.Errorf("loadTenants: %v", err)
	}
	served := func() (names []string) {
		for _, sh := range r.shares.list {
			names = append(names, sh.tenant.Name)
		}
		return names
	}
	if got := strings.Join(served(), " "); got != "a c" {
		t.Errorf("served: %s", got)
	}
	e.broken, r.Tenants = "", nil
	if err := r.loadTenants(t.Context()); err != nil {
		t.Error(err)
	}
	if got := strings.Join(served(), " "); got != "a b c other" {
		t.Errorf("served: %s", got)
	}
	// The connection of a tenant that was away for a while is of no use any more.
	opened := e.opened
	for _, all := range [][]Tenant{{{Name: "b"}, {Name: "c"}}, {{Name: "a"}, {Name: "b"}, {Name: "c"}}} {
		e.all = all
		if err := r.loadTenants(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(served(), " "); got != "a b c" || e.opened != opened+1 {
		t.Errorf("served: %s, with %d more that were opened", got, e.opened-opened)
	}
}
