package attractor

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/soak"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
)

func TestMain(m *testing.M) {
	if gate := os.Getenv(serverVar); gate != "" {
		if err := mill(gate); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == cutCommand {
		if err := serveCut(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	soak.Child(openSoak)
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// bench holds a directory, a store, and a server with a scripted model.
type bench struct {
	*testing.T
	dir    string
	kept   string // the directory of store
	store  *journal.Dir
	server *fakellm.Server
	url    string
}

func newBench(t *testing.T, turns ...fakellm.Turn) *bench {
	t.Helper()
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	kept := t.TempDir()
	return &bench{T: t, dir: t.TempDir(), kept: kept, store: journal.NewDir(kept), server: server, url: web.URL}
}

// config returns a complete configuration, whose environment has Anthropic's key.
func (b *bench) config() config {
	return config{Config: Config{Store: b.store, Dir: b.dir, Mode: permit.ModeFull},
		Getenv: variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url)}
}

// variables returns a Getenv for pairs of names and values.
func variables(pairs ...string) func(string) string {
	return func(name string) string {
		if i := slices.Index(pairs, name); i >= 0 && i%2 == 0 {
			return pairs[i+1]
		}
		return ""
	}
}

// begin opens and starts a session.
func (b *bench) begin(c config) (*Setup, *agent.Session) {
	b.Helper()
	setup, err := prepare(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	session, err := setup.Start(context.Background())
	if err != nil {
		b.Fatal(errors.Join(err, setup.Close()))
	}
	return setup, session
}

// submit runs a session with a task, or continues it if the task is empty. It returns the session's
// id and result.
func (b *bench) submit(c config, task string, change ...func(*agent.Options)) (string, *agent.Result) {
	b.Helper()
	setup, err := prepare(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range change {
		f(&setup.Options)
	}
	session, err := setup.Start(context.Background())
	if err != nil {
		b.Fatal(errors.Join(err, setup.Close()))
	}
	work := session.Continue
	if task != "" {
		work = func(ctx context.Context) (*agent.Result, error) { return session.Submit(ctx, task) }
	}
	result, err := work(context.Background())
	if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
		b.Fatal(err)
	}
	return session.ID(), result
}

// lastRequest returns the body of the newest request.
func (b *bench) lastRequest() string {
	requests := b.server.Requests()
	return string(requests[len(requests)-1].Body)
}

// ptr returns a pointer to s.
func ptr(s string) *string { return &s }

// writeTurn returns a turn that calls write_file.
func writeTurn(name, content string) fakellm.Turn {
	return fakellm.Turn{Calls: []fakellm.Call{{Name: "write_file",
		Args: []byte(`{"file_path":"` + name + `","content":"` + content + `"}`)}}}
}

// A session is stored with its directory, prompt and instructions, and can be resumed by the
// beginning of its id.
func TestJ12_OpenAndResume(t *testing.T) {
	b := newBench(t, writeTurn("made", "x"), fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"},
		fakellm.Turn{Text: "three"})
	if err := os.WriteFile(filepath.Join(b.dir, "AGENTS.md"), []byte("Speak in rhymes."), 0o600); err != nil {
		t.Fatal(err)
	}
	c := b.config()
	c.Instructions = "Answer in one word."
	id, result := b.submit(c, "the task")
	if data, err := os.ReadFile(filepath.Join(b.dir, "made")); result.Text != "one" || string(data) != "x" {
		t.Errorf("%q, the file holds %q, %v", result.Text, data, err)
	}
	for _, want := range []string{"Speak in rhymes.", "Answer in one word.", b.dir} {
		if !strings.Contains(b.lastRequest(), want) {
			t.Errorf("%q is not in the request: %s", want, b.lastRequest())
		}
	}

	c = config{Config: Config{Store: b.store, Resume: id[:8], Mode: permit.ModeFull}, Getenv: c.Getenv}
	if err := c.check(t.Context()); err != nil {
		t.Error(err)
	}
	again, result := b.submit(c, "go on")
	if again != id || result.Text != "two" || !strings.Contains(b.lastRequest(), "the task") {
		t.Errorf("session %s: %q after %s", again, result.Text, b.lastRequest())
	}

	c.chosen.model, c.chosen.effort = ptr("claude-other"), ptr("high")
	b.submit(c, "and on")
	if !strings.Contains(b.lastRequest(), `"model":"claude-other"`) {
		t.Errorf("the model was not changed: %s", b.lastRequest())
	}
	list, err := sessions.List(t.Context(), b.store, 0)
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Dir != b.dir || list[0].Task != "the task" {
		t.Errorf("the list has %+v, %v", list, err)
	}
}

// A resumed session keeps its provider, profile and dialect, whatever keys the environment has, and
// can move to another directory.
func TestJ12_ResumeKeepsSettings(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	c, native := b.config(), true
	c.Profile, c.chosen.native = "gemini", &native
	id, _ := b.submit(c, "the task")
	other := t.TempDir()
	c = config{Config: Config{Store: b.store, Resume: id, Dir: other},
		Getenv: variables("OPENAI_API_KEY", "k", "ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url)}
	b.submit(c, "go on", func(o *agent.Options) {
		if o.Provider != "anthropic" || o.Profile.Name != "gemini" || o.Profile.Dialect != "native" {
			t.Errorf("%s with %s %q", o.Provider, o.Profile.Name, o.Profile.Dialect)
		}
	})
	if !strings.Contains(b.lastRequest(), other) {
		t.Errorf("the request does not name the directory %s: %s", other, b.lastRequest())
	}
}

// The journals of subagents are in the session's store.
func TestJ12_SubagentsAreKept(t *testing.T) {
	b := newBench(t)
	setup, err := prepare(t.Context(), b.config())
	if err != nil {
		t.Fatal(err)
	}
	log, err := setup.Options.Subagents.Journal(t.Context(), "child")
	if err == nil {
		err = errors.Join(log.Append(t.Context(), 1, journal.Record{Kind: "x", Data: []byte("{}")}), log.Close())
	}
	if err := errors.Join(err, setup.Close()); err != nil {
		t.Fatal(err)
	}
	if entries, err := b.store.List(t.Context()); err != nil || len(entries) != 1 || entries[0].ID != "child" {
		t.Errorf("the store has %+v, %v", entries, err)
	}
}

// A fork is a new session that begins after a turn of another one.
func TestJ12_OpenFork(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"})
	source, _ := b.submit(b.config(), "the first task")
	c := b.config()
	c.Resume = source
	b.submit(c, "the second task")
	c.Resume, c.Fork, c.Turn = "", source, 2
	id, _ := b.submit(c, "another second task")
	if id == source || strings.Contains(b.lastRequest(), "the second task") || !strings.Contains(b.lastRequest(),
		"the first task") {
		t.Errorf("the fork %s of %s sent %s", id, source, b.lastRequest())
	}
	c.Turn = 99
	if _, err := prepare(t.Context(), c); !errors.Is(err, ErrConfig) || !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("fork after a missing turn: %v", err)
	}
}

// The permission decides which calls run, which are refused, and which a person is asked about.
func TestJ12_Permissions(t *testing.T) {
	for _, c := range []struct {
		permission permit.Mode
		verdict    tool.Verdict // the person's answer
		asked      int
		written    bool
	}{
		{permission: permit.ModeFull, written: true},
		{permission: permit.ModeReadOnly},
		{permission: permit.ModeAsk, verdict: tool.Allow, asked: 1, written: true},
		{permission: permit.ModeAsk, verdict: tool.Deny, asked: 1},
	} {
		b := newBench(t, fakellm.Turn{Calls: []fakellm.Call{{Name: "glob", Args: []byte(`{"pattern":"*"}`)}}},
			writeTurn("made", "x"), fakellm.Turn{Text: "done"})
		config, asked := b.config(), 0
		config.Mode = c.permission
		config.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
			asked++
			return permit.Answer{Verdict: c.verdict}, nil
		}
		b.submit(config, "the task", func(o *agent.Options) {
			err := o.Env.WriteFile(t.Context(), "probe", nil, 0o600)
			if readOnly := c.permission == permit.ModeReadOnly; readOnly != (err != nil) {
				t.Errorf("%+v: writing in the environment: %v", c, err)
			}
		})
		if _, err := os.Stat(filepath.Join(b.dir, "made")); asked != c.asked || (err == nil) != c.written {
			t.Errorf("%+v: asked %d times, %v", c, asked, err)
		}
	}
}

// A configuration that cannot work is an error of a kind, and leaves no journal behind.
func TestJ12_ErrorKinds(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	var ids []string
	for range 2 {
		id, _ := b.submit(b.config(), "a task")
		ids = append(ids, id)
	}
	keys := variables("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k")
	work := []providers.Kind{{Name: "work", Format: providers.ChatCompletions, URLs: []string{"https://x.example"},
		KeyVars: []string{"WORK_KEY"}, Headers: map[string]string{"X-Gateway": "${GATEWAY}"}}}
	for name, c := range map[string]struct {
		change func(c *config)
		kind   error
		text   string
	}{
		"no key":                  {func(c *config) { c.Getenv = variables() }, ErrNoKey, "ANTHROPIC_API_KEY"},
		"no key for the provider": {func(c *config) { c.chosen.provider = ptr("gemini") }, ErrNoKey, "GEMINI_API_KEY"},
		"several keys":            {func(c *config) { c.Getenv = keys }, ErrNoProvider, "anthropic, openai"},
		"a URL without a provider": {func(c *config) { c.Getenv, c.BaseURL = variables(), b.url }, ErrNoProvider,
			"base URL"},
		"no server": {func(c *config) { c.chosen.provider = ptr("openai-compatible") }, ErrNoServer,
			"OPENAI_COMPATIBLE_BASE_URL"},
		"no key for a provider of one's own": {func(c *config) { c.chosen.provider, c.Kinds = ptr("work"), work },
			ErrNoKey, "work needs WORK_KEY and GATEWAY in the environment"},
		"a provider and no model": {func(c *config) {
			c.Getenv, c.chosen.model, c.Kinds = variables(), ptr("work"), work
		}, ErrNoModel, "no model, such as work/MODEL"},
		"an unknown provider": {func(c *config) { c.chosen.provider = ptr("nobody") }, ErrConfig, "anthropic"},
		"an unknown profile":  {func(c *config) { c.Profile = "nobody" }, ErrConfig, "anthropic, openai, gemini"},
		"no directory": {func(c *config) { c.Dir = filepath.Join(b.dir, "none") }, ErrConfig,
			"cannot work in"},
		"an unknown session": {func(c *config) { c.Resume = "zzz" }, sessions.ErrNotFound, `"zzz"`},
		"no store":           {func(c *config) { c.Store, c.Resume = nil, ids[0] }, sessions.ErrNoStore, "not kept"},
		"another provider": {func(c *config) { c.Resume, c.chosen.provider = ids[0], ptr("openai") }, ErrNoModel,
			"openai needs a model"},
		"no default model": {func(c *config) { c.chosen.provider, c.BaseURL = ptr("openai-compatible"), b.url },
			ErrNoModel, "openai-compatible"},
		"no default model of one's own": {func(c *config) {
			c.chosen.provider = ptr("lab")
			c.Kinds = []providers.Kind{{Name: "lab", Format: providers.ChatCompletions, URLs: []string{b.url}}}
		}, ErrNoModel, "no default model: name one, such as lab/MODEL"},
	} {
		config := b.config()
		c.change(&config)
		if setup, err := prepare(t.Context(), config); !errors.Is(err, c.kind) || !strings.Contains(err.Error(),
			c.text) || setup != nil {
			t.Errorf("%s: %v, want the kind %q and %q", name, err, c.kind, c.text)
		}
	}
	left, err := filepath.Glob(filepath.Join(b.kept, "*.jsonl"))
	if err != nil || len(left) != len(ids) {
		t.Errorf("the store has %q, %v", left, err)
	}
}

// A session has its provider's profile, or the anthropic profile without its options if the
// provider has none.
func TestJ12_ProfileByProvider(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		provider, profile string
		native            bool
		want, tool        string
	}{
		{"anthropic", "", false, "anthropic", "edit_file"},
		{"openai", "", false, "openai", "apply_patch"},
		{"openai", "", true, "openai", "exec_command"},
		{"gemini", "", true, "gemini", "replace"},
		{"openai-compatible", "", false, "anthropic", "edit_file"},
		{"openai-compatible", "", true, "anthropic", "Edit"},
		{"anthropic", "gemini", false, "gemini", "list_dir"},
	} {
		config := b.config()
		config.chosen.provider, config.chosen.model, config.Profile, config.chosen.native, config.BaseURL = &c.provider,
			ptr("m"), c.profile, &c.native, b.url
		setup, err := prepare(t.Context(), config)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		p := setup.Options.Profile
		if p.Name != c.want || c.native != (p.Dialect == "native") || c.profile == "" && p.Provider != c.provider {
			t.Errorf("%+v: %s %q of %s", c, p.Name, p.Dialect, p.Provider)
		}
		if c.provider == "openai-compatible" && p.Options != nil {
			t.Errorf("%+v: the options are %s", c, p.Options)
		}
		if !slices.ContainsFunc(p.Tools, func(t tool.Tool) bool { return t.Name == c.tool }) {
			t.Errorf("%+v: there is no tool %s", c, c.tool)
		}
		if err := setup.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The names that are known without a profile are the profiles' own.
func TestK1_ProfileNames(t *testing.T) {
	for _, name := range profiles.Names() {
		for _, native := range []bool{false, true} {
			p, err := profiles.Find(name, native)
			if err != nil || p.Name != name || native != (p.Dialect == "native") {
				t.Errorf("FindProfile(%s, %v) is %s %q, %v", name, native, p.Name, p.Dialect, err)
			}
		}
	}
}
