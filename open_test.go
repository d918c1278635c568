package attractor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/undo"
)

// opened holds a directory, a home and a scripted model for sessions.
type opened struct {
	*testing.T
	dir, home string
	server    *fakellm.Server
	vars      map[string]string
	results   map[string]string // of calls, by their ids
}

func newOpened(t *testing.T, turns ...fakellm.Turn) *opened {
	t.Helper()
	o := &opened{T: t, dir: t.TempDir(), home: t.TempDir(),
		server: fakellm.New(fakellm.Script(turns...), fakellm.Options{}), results: map[string]string{}}
	web := httptest.NewServer(o.server)
	t.Cleanup(web.Close)
	for _, kind := range providers.Kinds() {
		for _, name := range kind.KeyVars {
			t.Setenv(name, "")
		}
	}
	o.vars = map[string]string{"ANTHROPIC_API_KEY": "the-key-of-this-test", "ANTHROPIC_BASE_URL": web.URL,
		"HOME": o.home}
	return o
}

// write writes a file below the directory, or below the home if its name begins with ~/.
func (o *opened) write(name, text string) {
	o.Helper()
	full := filepath.Join(o.dir, name)
	if below, ok := strings.CutPrefix(name, "~/"); ok {
		full = filepath.Join(o.home, below)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		o.Fatal(err)
	}
}

// config returns the least configuration that works here.
func (o *opened) config() attractor.Config {
	return attractor.Config{Dir: o.dir, Vars: o.vars, OnEvent: func(ev agent.Event) {
		if e, ok := ev.(*agent.ToolCallEnd); ok {
			o.results[e.CallID] = e.Output
		}
	}}
}

// submit opens a session, gives it a task, and closes it.
func (o *opened) submit(c attractor.Config) *agent.Result {
	o.Helper()
	session, err := attractor.Open(o.Context(), c)
	if err != nil {
		o.Fatal(err)
	}
	result, err := session.Submit(o.Context(), "work")
	if err != nil {
		o.Error(err)
	}
	if err := session.Close(); err != nil {
		o.Error(err)
	}
	return result
}

func call(name, args string) fakellm.Call { return fakellm.Call{Name: name, Args: []byte(args)} }

// A session that is told nothing reads and does nothing else, says how to allow more, masks
// secrets, and starts nothing of a repository or of the user's.
func TestT2_SafeAsItComes(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{
		call("read_file", `{"file_path":"notes.txt"}`),
		call("read_file", `{"file_path":".env"}`),
		call("write_file", `{"file_path":"new.txt","content":"x"}`),
		call("edit_file", `{"file_path":"notes.txt","old_string":"a","new_string":"b"}`),
		call("shell", `{"command":"touch made"}`),
		call("shell", `{"command":"cat notes.txt"}`),
		call("shell", `{"command":"env"}`),
	}}, fakellm.Turn{Text: "done"})
	hook := `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ` + o.dir +
		`/hooked"}]}]},"permissions":{"allow":["Bash","Edit"]}}`
	server := `{"mcpServers":{"s":{"command":"touch","args":["` + o.dir + `/served"]}}}`
	for name, text := range map[string]string{
		"notes.txt": "a note, the-key-of-this-test\n", ".env": "SECRET=1\n", "AGENTS.md": "Say please.\n",
		".claude/settings.json": hook, ".mcp.json": server, ".attractor/rules.json": hook, ".claude/commands/c.md": "x",
		"~/.claude/settings.json": hook, "~/.config/attractor/mcp.json": server, "~/.claude/commands/d.md": "x",
		"~/.claude/CLAUDE.md": "Mine.\n",
	} {
		o.write(name, text)
	}
	c := o.config()
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if list := session.Commands(); len(list) > 0 {
		t.Errorf("commands of files: %v", list)
	}
	if _, err := session.Submit(t.Context(), "work"); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	allowed := []bool{true, false, false, false, false, true, false}
	if len(o.results) != len(allowed) {
		t.Fatalf("%d results: %q", len(o.results), o.results)
	}
	for i := range allowed {
		result := o.results[fmt.Sprintf("call_0_%d", i)]
		if refused := strings.Contains(result, "Allow, Mode or Ask of attractor.Config"); refused == allowed[i] {
			t.Errorf("call %d: %s", i, result)
		}
		if strings.Contains(result, "the-key-of-this-test") {
			t.Errorf("call %d shows the key: %s", i, result)
		}
	}
	for _, name := range []string{"new.txt", "made", "hooked", "served"} {
		if _, err := os.Stat(filepath.Join(o.dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	system := o.server.Requests()[0].System
	if !strings.Contains(system, "Say please.") || strings.Contains(system, "Mine.") {
		t.Errorf("the documents are not the project's alone: %s", system)
	}
}

// A person, an inbox, rules and a mode allow what is refused otherwise.
func TestT1_WhatAllows(t *testing.T) {
	yes := func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Verdict: tool.Allow}, nil
	}
	for name, change := range map[string]func(*attractor.Config){
		"Ask":   func(c *attractor.Config) { c.Ask = yes },
		"Allow": func(c *attractor.Config) { c.Allow = []string{"Bash(touch:*)"} },
		"Mode":  func(c *attractor.Config) { c.Mode = permit.ModeFull },
		"Inbox": func(c *attractor.Config) {
			asks := make(chan permit.Ask, 9)
			c.Inbox = permit.NewInbox(func(a permit.Ask) { asks <- a }, nil)
			go func() {
				if err := c.Inbox.Decide((<-asks).ID, permit.Answer{Verdict: tool.Allow}); err != nil {
					t.Error(err)
				}
			}()
		},
		"Options": func(c *attractor.Config) {
			c.Options = func(o *agent.Options) {
				o.Authorize = func(context.Context, tool.Request) (tool.Decision, error) {
					return tool.Decision{Verdict: tool.Allow}, nil
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{call("shell", `{"command":"touch made"}`)}},
				fakellm.Turn{Text: "done"})
			c := o.config()
			change(&c)
			o.submit(c)
			if _, err := os.Stat(filepath.Join(o.dir, "made")); err != nil {
				t.Errorf("%v: %q", err, o.results)
			}
		})
	}
}

// Files count as far as they are loaded, and the project's only if it is trusted.
func TestT1_WhatIsLoaded(t *testing.T) {
	for name, c := range map[string]struct {
		load    attractor.Load
		trusted bool
		want    string
	}{
		"none":                   {0, true, ""},
		"the user's":             {attractor.LoadUser, true, "mine"},
		"an untrusted project's": {attractor.LoadUser | attractor.LoadProject, false, "mine"},
		"all":                    {attractor.LoadUser | attractor.LoadProject, true, "its mine"},
		"a trusted project's":    {attractor.LoadProject, true, "its"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOpened(t)
			o.write(".claude/commands/its.md", "x")
			o.write("~/.claude/commands/mine.md", "x")
			config := o.config()
			config.Load, config.TrustProject = c.load, c.trusted
			session, err := attractor.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, command := range session.Commands() {
				names = append(names, command.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("the commands are %q, want %q", got, c.want)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Settings of the user count where the program says nothing, and those of a trusted project only
// make it stricter.
func TestT1_Settings(t *testing.T) {
	const users = `{"max_rounds": 30, "budget_usd": 5, "sandbox": "workspace", "limit": "memory=4g,processes=900", "mode": "accept-edits", "keep_outputs": 7}`
	const projects = `{"max_rounds": 20, "budget_usd": 50, "sandbox": "read-only", "limit": "memory=64g", "effort": "low"}`
	for name, c := range map[string]struct {
		load           attractor.Load
		budget         float64
		level          sandbox.Level
		rounds, kept   int
		usd            float64
		confined, mode string
		set            string // max_rounds
	}{
		"nobody's":   {0, 0, "", settings.DefaultRounds, 16 << 20, 0, "", "ask", ""},
		"the user's": {attractor.LoadUser, 0, "", 30, 7, 5, "workspace", "accept-edits", ""},
		"all":        {attractor.LoadUser | attractor.LoadProject, 0, "", 20, 7, 5, "read-only", "accept-edits", ""},
		"all, and the program's": {attractor.LoadUser | attractor.LoadProject, 0, "", 50, 7, 5,
			"read-only", "accept-edits", "50"},
		"the project's, beside the program's": {attractor.LoadProject, 3, sandbox.Workspace, 20, 16 << 20, 3,
			"workspace", "ask", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOpened(t, fakellm.Turn{Text: "done"})
			o.write("~/.config/attractor/config.json", users)
			o.write(".attractor/config.json", projects)
			config := o.config()
			config.Load, config.TrustProject, config.Budget.USD, config.Sandbox.Level = c.load, true, c.budget, c.level
			if c.set != "" {
				config.Set("max_rounds", "this test", c.set)
			}
			var got agent.Options
			config.Options = func(o *agent.Options) { got = *o }
			session, err := attractor.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if got.Policy.MaxToolRounds != c.rounds || got.Policy.Budget.USD != c.usd ||
				int(got.Limits.KeepOutputs) != c.kept || string(session.Mode()) != c.mode {
				t.Errorf("the options are %+v, %+v, the mode is %s", got.Policy, got.Limits, session.Mode())
			}
			if _, err := session.Submit(t.Context(), "work"); err != nil {
				t.Error(err)
			}
			_, level, _ := strings.Cut(o.server.Requests()[0].System, "\nSandbox: ")
			if level, _, _ = strings.Cut(level, " "); level != c.confined {
				t.Errorf("the prompt is about the sandbox %q, want %q", level, c.confined)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A sandbox that another agent's settings choose gives way to what the caller says, and to none
// where none can be had, which is told. The user's own does not.
func TestX5_SandboxOfAnotherAgent(t *testing.T) {
	for name, c := range map[string]struct {
		own, unasked, fails, warns string
		command                    []string
		inHome                     bool
	}{
		"commands run unasked": {unasked: "observe"},
		"on another machine":   {command: []string{"false"}, fails: "false"},
		"in the home directory": {inHome: true, warns: "goes on without the sandbox that " +
			"HOME/.claude/settings.json: sandbox.enabled"},
		"the user's own there": {inHome: true, own: `{"sandbox": "workspace"}`, fails: "cannot work in"},
		"the user's own on another": {command: []string{"false"}, own: `{"sandbox": "workspace"}`,
			fails: "confines commands of this machine"},
		"the user's own and unasked": {unasked: "observe", own: `{"sandbox": "workspace"}`,
			fails: "choose one of the two"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOpened(t)
			if c.inHome {
				o.dir = o.home
			}
			t.Setenv("HOME", o.home)
			o.write("~/.claude/settings.json", `{"sandbox": {"enabled": true}}`)
			if c.own != "" {
				o.write("~/.config/attractor/config.json", c.own)
			}
			config := o.config()
			config.Load, config.EnvCommand, config.Unasked = attractor.LoadUser, c.command, sandbox.Level(c.unasked)
			session, err := attractor.Open(t.Context(), config)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) ||
					strings.Contains(err.Error(), "confines") != strings.Contains(c.fails, "confines") &&
						c.unasked == "" {
					t.Errorf("the error is %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			told := strings.ReplaceAll(strings.Join(session.Warnings(), "\n"), o.home, "HOME")
			if !strings.Contains(told, c.warns) || c.warns == "" && strings.Contains(told, "without the sandbox") {
				t.Errorf("the warnings are %q", told)
			}
		})
	}
}

// The cache is kept if the user's settings say so, or the program.
func TestV5_KeepCacheIsASetting(t *testing.T) {
	for name, c := range map[string]struct {
		user, program string
		want          bool
	}{
		"nobody": {"{}", "", false}, "the user": {`{"keep_cache": true}`, "", true},
		"the program": {"{}", "true", true}, "the program does not": {`{"keep_cache": true}`, "false", false},
	} {
		o := newOpened(t)
		o.write("~/.config/attractor/config.json", c.user)
		config := o.config()
		config.Load = attractor.LoadUser
		if c.program != "" {
			config.Set("keep_cache", "this test", c.program)
		}
		session, err := attractor.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if got := session.Policy().KeepCache; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is wrong in the user's settings is an error that names the file and the line.
func TestT1_WrongSettings(t *testing.T) {
	o := newOpened(t)
	o.write("~/.config/attractor/config.json", "{\n\"mode\": \"yolo\"}")
	c := o.config()
	c.Load = attractor.LoadUser
	if _, err := attractor.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(),
		"config.json, line 2: mode must be") {
		t.Error(err)
	}
}

// Other hosts' promises hold for programs, too: what a project sets loosens nothing, servers that
// read build files need trust, tools of servers are there from the first request, and warnings can
// be read.
func TestT1_AsInTheCommand(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "done"})
	o.write(".attractor/config.json", `{"sandbox": "workspace-weak", "limit": "memory=64g", "lsp": "auto"}`)
	o.write("go.mod", "module example.com/m\n")
	c := o.config()
	c.Load, c.TrustProject = attractor.LoadUser|attractor.LoadProject, true
	c.Sandbox.Level, c.Limits.Memory, c.Budget.USD = sandbox.ReadOnly, 1<<30, 3
	c.Servers = []mcp.Server{{Name: "none", Command: "no-such-program-here"}}
	var policy agent.Policy
	c.Options = func(o *agent.Options) { policy = o.Policy }
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Submit(t.Context(), "work"); err != nil {
		t.Error(err)
	}
	if policy.Budget.USD != 3 || policy.Compaction.Threshold == 0 || policy.MaxToolRounds == 0 {
		t.Errorf("the policy is %+v", policy)
	}
	if all := strings.Join(session.Warnings(), "\n"); !strings.Contains(all, "no-such-program-here") {
		t.Errorf("the warnings are %q", all)
	}
	if list := session.Servers(); len(list) != 1 || list[0].Server.Name != "none" || list[0].Err == nil {
		t.Errorf("the servers are %+v", list)
	}
	if system := o.server.Requests()[0].System; !strings.Contains(system, "read-only") {
		t.Errorf("the sandbox is another one: %s", system)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// Nothing is started that reads the build files of a project which nobody trusts.
func TestT2_LanguageServersNeedTrust(t *testing.T) {
	for trusted, want := range map[bool]bool{false: true, true: false} {
		o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{call("write_file",
			`{"file_path":"main.go","content":"package main\n"}`)}}, fakellm.Turn{Text: "done"})
		o.write("go.mod", "module example.com/m\n")
		c := o.config()
		c.LanguageServers, c.Allow, c.TrustProject = "gopls", []string{"Edit"}, trusted
		session, err := attractor.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Submit(t.Context(), "work"); err != nil {
			t.Error(err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(strings.Join(session.Warnings(), "\n"),
			"nobody has said that they trust the project"); got != want {
			t.Errorf("trusted %v: %q", trusted, session.Warnings())
		}
	}
}

// A session outlives the context with which it was opened.
func TestT1_ContextOfOpen(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "done"})
	ctx, cancel := context.WithCancel(t.Context())
	session, err := attractor.Open(ctx, o.config())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if result, err := session.Submit(t.Context(), "work"); err != nil || result.Text != "done" {
		t.Errorf("%+v, %v", result, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if _, err := attractor.Open(ctx, o.config()); !errors.Is(err, context.Canceled) {
		t.Errorf("opened with a context that has ended: %v", err)
	}
}

// A session goes on under the same id, with another mode and model.
func TestT1_ResumedWithAnotherModel(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	store := journal.NewDir(t.TempDir())
	c := o.config()
	c.Store, c.ID, c.Model = store, "s", "anthropic/claude-sonnet-5-5"
	o.submit(c)
	c.ID, c.Resume, c.Model = "", "s", ""
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if session.Model() != "anthropic/claude-sonnet-5-5" || session.Mode() != permit.ModeAsk {
		t.Errorf("%s, %s", session.Model(), session.Mode())
	}
	if err := session.SetModel(t.Context(), "haiku"); err != nil {
		t.Error(err)
	}
	if err := session.SetEffort(t.Context(), "nonsense"); err == nil {
		t.Error("an effort that the model does not have")
	}
	if err := session.SetMode(t.Context(), permit.ModeFull); err != nil {
		t.Error(err)
	}
	if err := session.SetModel(t.Context(), "openai/gpt"); err == nil || !strings.Contains(err.Error(),
		"OPENAI_API_KEY") {
		t.Error(err)
	}
	if result, err := session.SubmitCommand(t.Context(), "go on"); err != nil || result.Text != "two" {
		t.Errorf("%+v, %v", result, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	requests := o.server.Requests()
	if last := requests[len(requests)-1]; !strings.Contains(last.Model, "haiku") {
		t.Errorf("the model is %s", last.Model)
	}
}

// An environment of the program's takes the place of the machine, also when the session is resumed.
func TestT1_EnvInPlaceOfTheMachine(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{
		call("read_file", `{"file_path":"notes.txt"}`), call("write_file", `{"file_path":"new.txt","content":"x"}`),
	}}, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	memory := envtest.NewMemory(map[string]string{"notes.txt": "in memory\n", "AGENTS.md": "Say please.\n",
		".mcp.json": `{"mcpServers":{"s":{"command":"x"}}}`})
	c := o.config()
	c.Dir, c.Env, c.Allow, c.Load = "", memory, []string{"Edit"}, attractor.LoadProject
	c.Store, c.ID = journal.NewDir(t.TempDir()), "s"
	o.submit(c)
	if got := o.results["call_0_0"]; !strings.Contains(got, "in memory") {
		t.Errorf("read: %s", got)
	}
	if _, err := memory.Stat(t.Context(), "new.txt"); err != nil {
		t.Errorf("%v: %s", err, o.results["call_0_1"])
	}
	if system := o.server.Requests()[0].System; !strings.Contains(system, "Say please.") ||
		strings.Contains(system, o.dir) {
		t.Errorf("the prompt is about another place: %s", system)
	}
	c.ID, c.Resume = "", "s"
	if result := o.submit(c); result.Text != "two" {
		t.Errorf("%+v", result)
	}
	c.Sandbox.Level = sandbox.Workspace
	if _, err := attractor.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(),
		"confine commands there") {
		t.Error(err)
	}
}

// An error in the configuration says what to change.
func TestT1_Mistakes(t *testing.T) {
	o := newOpened(t)
	for want, change := range map[string]func(*attractor.Config){
		"unknown provider":  func(c *attractor.Config) { c.Model = "nobody/x" },
		"ANTHROPIC_API_KEY": func(c *attractor.Config) { c.Vars = nil },
		"cannot work in":    func(c *attractor.Config) { c.Dir = filepath.Join(o.dir, "none") },
		"there is no mode":  func(c *attractor.Config) { c.Mode = "yolo" },
		"looks like a list": func(c *attractor.Config) { c.Deny = []string{"Bash(rm:*), Bash(git push:*)"} },
		"both Ask and Inbox": func(c *attractor.Config) {
			c.Inbox = permit.NewInbox(nil, nil)
			c.Ask = c.Inbox.Approve
		},
		"no Store": func(c *attractor.Config) { c.Resume = "s" },
		"no Fork":  func(c *attractor.Config) { c.Turn = 3 },
		"the bot: there is no setting max_round; do you mean max_rounds": func(c *attractor.Config) {
			c.Set("max_round", "the bot", "3")
		},
		`the bot: budget_usd must be a number from 0 on, not "much"`: func(c *attractor.Config) {
			c.Set(
				"budget_usd", "the bot", "much")
		},
		"names one in Checkpoints": func(c *attractor.Config) { c.Checks.Commands = []string{"true"} },
		"leave the Store out":      func(c *attractor.Config) { c.Set("no_journal", "the bot", "true") },
	} {
		c := o.config()
		change(&c)
		if _, err := attractor.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if strings.HasPrefix(want, "no ") || strings.HasPrefix(want, "both") || strings.Contains(want, "the bot") {
			if err := c.Check(t.Context()); !errors.Is(err, attractor.ErrConfig) {
				t.Errorf("%v is of no kind", err)
			}
		}
	}
}

// Providers of the program's own can be chosen from the beginning and later, and named as a
// fallback.
func TestT1_OwnProviders(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "of acme"}, fakellm.Turn{Text: "two"})
	acme := llmtest.NewProvider("acme", llmtest.Text("from acme"), llmtest.Text("from acme again"))
	c := o.config()
	c.Providers = []llm.Provider{acme}
	c.Model, c.Fallbacks = "anthropic/claude-sonnet-5-5",
		[]agent.FallbackModel{{Provider: "acme", Model: "writer/small"}}
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ model, want string }{{"", "one"}, {"acme/writer/large", "from acme"},
		{"anthropic/claude-haiku-4-5", "two"}} {
		if step.model != "" {
			if err := session.SetModel(t.Context(), step.model); err != nil {
				t.Fatal(err)
			}
		}
		if result, err := session.Submit(t.Context(), "go on"); err != nil || result.Text != step.want {
			t.Errorf("%s: %+v, %v, want %q", step.model, result, err, step.want)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if got := acme.Requests(); len(got) != 1 || got[0].Model != "writer/large" {
		t.Errorf("acme got %+v", got)
	}
	c.Vars, c.Model, c.Fallbacks = map[string]string{"HOME": o.home}, "", nil // no key of a vendor
	for model, want := range map[string]string{"": "such as acme/MODEL", "acme": "acme has no default model: name " +
		"one, such as acme/MODEL"} {
		c.Model = model
		if _, err := attractor.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", model, err)
		}
	}
	c.Model = "acme/writer"
	if result := o.submit(c); result.Text != "from acme again" {
		t.Errorf("%+v", result)
	}
}

// A session that the program itself has open is not somebody else's to end.
func TestT1_OpenedTwice(t *testing.T) {
	o := newOpened(t)
	c := o.config()
	c.Store, c.ID = journal.NewDir(t.TempDir()), "once"
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = attractor.Open(t.Context(), c)
	if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(),
		"which is this one: use the session that is open") {
		t.Error(err)
	}
}

// A middleware that a program appends to the client's is around the model calls.
func TestT1_OwnModelMiddleware(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "done"})
	var models []string
	seen := func(next llm.Handler) llm.Handler {
		return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			models = append(models, req.Model)
			return next(ctx, req)
		}
	}
	c := o.config()
	c.Model = "anthropic/claude-sonnet-5-5"
	c.Options = func(options *agent.Options) {
		options.Client.Middleware = append(options.Client.Middleware, seen)
	}
	if result := o.submit(c); result.Text != "done" {
		t.Errorf("%+v", result)
	}
	if want := []string{"claude-sonnet-5-5"}; !slices.Equal(models, want) {
		t.Errorf("the middleware saw %q, want %q", models, want)
	}
}

// What waits for an answer, the skills, and an undo of the changes are there for programs, too.
func TestT1_AsksSkillsAndUndo(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{call("write_file",
		`{"file_path":"a.txt","content":"new\n"}`)}}, fakellm.Turn{Text: "done"})
	o.write("~/.claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys.\n---\nRun make.")
	asks := make(chan permit.Ask, 1)
	c := o.config()
	c.Load, c.Checkpoints, c.Store = attractor.LoadUser, t.TempDir(), journal.NewDir(t.TempDir())
	c.Inbox = permit.NewInbox(func(a permit.Ask) { asks <- a }, nil)
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if skills := session.Setup().Skills.List; len(skills) != 1 || skills[0].Name != "deploy" ||
		len(session.Asks()) > 0 {
		t.Errorf("the skills are %+v, the asks %+v", skills, session.Asks())
	}
	answered := make(chan error)
	go func() {
		first := <-asks
		open := session.Asks()
		if len(open) != 1 || open[0].ID != first.ID {
			t.Errorf("the asks are %+v", open)
		}
		answered <- c.Inbox.Decide(first.ID, permit.Answer{Verdict: tool.Allow})
	}()
	_, err = session.Submit(t.Context(), "make it")
	if err := errors.Join(err, <-answered); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "a.txt")); err != nil {
		t.Errorf("%v: %q", err, o.results)
	}
	_, err = session.Setup().Undo(t.Context(), undo.Options{}, 1,
		func(_ context.Context, plan attractor.UndoPlan) (bool, error) {
			return strings.Contains(plan.Text, "a.txt") && plan.ID != "", nil
		})
	if err := errors.Join(err, session.Close()); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(o.dir, "a.txt")); err == nil {
		t.Errorf("there is still %q", data)
	}
}

// What the command's flags for logs, checks and the newest session do, a program can say, too. A
// setting that is ignored does not count.
func TestT1_DebugChecksAndContinue(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	o.write("~/.config/attractor/config.json", `{"max_rounds": 30, "effort": "low"}`)
	var log bytes.Buffer
	c := o.config()
	c.Load, c.Ignore, c.Debug = attractor.LoadUser, []string{"effort"}, &log
	c.Store, c.Checkpoints = journal.NewDir(t.TempDir()), t.TempDir()
	c.Checks.Commands, c.Checks.Rounds, c.Checks.Timeout = []string{"true"}, 1, time.Minute
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.Submit(t.Context(), "work")
	if err != nil {
		t.Fatal(err)
	}
	if report, err := session.Setup().EndChecks(t.Context(), result); err != nil || report.Status != check.Verified {
		t.Errorf("%+v, %v", report, err)
	}
	if _, _, effort := session.Setup().Model(); effort != "" || session.Policy().MaxToolRounds != 30 {
		t.Errorf("effort %q, %d rounds", effort, session.Policy().MaxToolRounds)
	}
	id := session.ID()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), id) || strings.Contains(log.String(), "the-key-of-this-test") {
		t.Errorf("the log is %s", log.String())
	}
	c.Checks, c.Continue = attractor.Checks{}, true
	if err := c.Check(t.Context()); err != nil || c.Resume != id || c.Continue {
		t.Errorf("%q, %v, %v", c.Resume, c.Continue, err)
	}
	if result := o.submit(c); result.Text != "two" {
		t.Errorf("%+v", result)
	}
}
