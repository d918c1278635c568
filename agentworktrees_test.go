package attractor

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// farm is a bench whose directory is a repository, with a model that follows a script for each
// task. A script is that of the first message.
type farm struct {
	*bench
	home    string // of the worktrees
	scripts map[string][]func() fakellm.Turn

	mu     sync.Mutex
	events []agent.Event
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	peer.Need(t, "git")
	f := &farm{bench: newBench(t), scripts: map[string][]func() fakellm.Turn{}}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.dir, f.home = filepath.Join(dir, "shop"), filepath.Join(dir, "data")
	f.server = fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		for _, m := range r.Messages {
			for task, script := range f.scripts {
				if m.Role == llm.RoleUser && strings.HasPrefix(m.Parts.Text(), task) {
					return script[min(r.Turn(), len(script)-1)]()
				}
			}
		}
		return fakellm.Turn{Text: "no script"}
	}, fakellm.Options{})
	web := httptest.NewServer(f.server)
	t.Cleanup(web.Close)
	f.url = web.URL
	f.write("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", ".gitignore", "ignored\n")
	f.git("init", "-q", "-b", "main")
	f.git("config", "user.name", "A")
	f.git("config", "user.email", "a@example.com")
	f.git("add", ".")
	f.git("commit", "-qm", "one")
	return f
}

// git runs git in the repository.
func (f *farm) git(args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = f.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// script sets what the model answers to a task.
func (f *farm) script(task string, turns ...fakellm.Turn) {
	for _, turn := range turns {
		f.scripts[task] = append(f.scripts[task], func() fakellm.Turn { return turn })
	}
}

// config is that of a session with Claude Code's dialect, whose tool Agent has the isolation.
func (f *farm) config() config {
	c, native := f.bench.config(), true
	c.chosen.native = &native
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", f.url, "XDG_DATA_HOME", f.home,
		"HOME", filepath.Dir(f.dir))
	return c
}

// isolated returns arguments of the tool Agent.
func isolated(task string, more ...any) object {
	args := object{"description": "x", "prompt": task, "isolation": "worktree"}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

// runs returns a call of the shell.
func (f *farm) runs(command string) fakellm.Turn {
	return calls(f.T, "Bash", object{"command": command})
}

// watch keeps the events.
func (f *farm) watch(o *agent.Options) {
	show := o.OnEvent
	o.OnEvent = func(ev agent.Event) {
		f.mu.Lock()
		f.events = append(f.events, ev)
		f.mu.Unlock()
		if show != nil {
			show(ev)
		}
	}
}

// worktrees returns the worktrees beside the repository, and the branches beside main.
func (f *farm) worktrees() (tops, branches []string) {
	f.Helper()
	for line := range strings.Lines(f.git("worktree", "list", "--porcelain")) {
		if top, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree "); ok && top != f.dir {
			tops = append(tops, top)
		}
	}
	for branch := range strings.Lines(f.git("branch", "--format=%(refname:short)")) {
		if branch = strings.TrimSpace(branch); branch != "main" {
			branches = append(branches, branch)
		}
	}
	return tops, branches
}

// Two agents change one file at the same time, each in a worktree of its own. The session's file
// stays as it is until both branches are merged. A worktree whose work is all merged goes with the
// session, and the other one is told of when that goes on.
func TestO8_AgentsInWorktrees(t *testing.T) {
	f := newFarm(t)
	var both sync.WaitGroup
	both.Add(2)
	for task, command := range map[string]string{
		"first": "sed -i.bak s/1/one/ f.txt && rm f.txt.bak && git commit -qam one",
		"last":  "sed -i.bak s/9/nine/ f.txt && rm f.txt.bak && git commit -qam nine && echo x >new"} {
		f.scripts[task] = append(f.scripts[task], func() fakellm.Turn {
			both.Done()
			both.Wait()
			return f.runs(command + "; pwd")
		})
		f.script(task, fakellm.Turn{Text: "changed it"})
	}
	f.script("go", calls(t, "Agent", isolated("first"), "Agent", isolated("last")))
	var tops, branches []string
	var data string
	f.scripts["go"] = append(f.scripts["go"], func() fakellm.Turn {
		tops, branches = f.worktrees()
		data = f.read("f.txt")
		return f.runs("git merge -q --no-edit " + strings.Join(branches, " "))
	})
	f.script("go", fakellm.Turn{Text: "done"})
	f.write("later.txt", "not committed\n")
	id, _ := f.submit(f.config(), "go", f.watch)
	if !strings.HasPrefix(data, "1\n") || !strings.HasSuffix(data, "9\n") {
		t.Errorf("the session's file was %q", data)
	}
	if len(tops) != 2 || len(branches) != 2 {
		t.Fatalf("worktrees %v, branches %v", tops, branches)
	}
	results := f.lastResults()
	for i, top := range tops {
		if !strings.HasPrefix(top, f.home) || !strings.Contains(results, top+", on the branch attractor/"+
			filepath.Base(top)) || branches[i] != "attractor/"+filepath.Base(top) {
			t.Errorf("%s, %s: %s", top, branches[i], results)
		}
	}
	for _, want := range []string{": it has 1 commit.",
		"it has 1 commit, and 1 file with changes that are not committed",
		"without your changes (paths: 1)", "git merge attractor/"} {
		if !strings.Contains(results, want) {
			t.Errorf("no %q in %s", want, results)
		}
	}
	if data := f.read("f.txt"); !strings.HasPrefix(data, "one\n") || !strings.HasSuffix(data, "nine\n") {
		t.Errorf("the merged file is %q", data)
	}
	if tops, branches := f.worktrees(); len(tops) != 1 || len(branches) != 1 { // one has a new file
		t.Errorf("worktrees %v, branches %v are left", tops, branches)
	}
	c := f.config()
	c.Resume = id
	f.script("on", fakellm.Turn{Text: "done"})
	delete(f.scripts, "go")
	f.submit(c, "on", f.watch)
	if n := strings.Count(f.lastRequest(), "An agent of an earlier run of this session has left"); n != 1 {
		t.Errorf("the resumed session was told of %d worktrees", n)
	}
}

// The tool that the other families share has the isolation, too.
func TestO8_SharedToolAsksForAWorktree(t *testing.T) {
	f := newFarm(t)
	c := f.config()
	c.chosen.native = new(bool)
	var branches []string
	f.scripts["look"] = append(f.scripts["look"], func() fakellm.Turn {
		_, branches = f.worktrees()
		return fakellm.Turn{Text: "seen"}
	})
	f.script("go", calls(t, "spawn_agent", object{"task": "look", "isolation": "worktree"}),
		calls(t, "wait", object{"agent_id": "agent-1"}), fakellm.Turn{Text: "done"})
	f.submit(c, "go", f.watch)
	if len(branches) != 1 {
		t.Errorf("the agent had the branches %v", branches)
	}
	if !strings.Contains(f.lastResults(), "which is gone") {
		t.Errorf("the report: %s", f.lastResults())
	}
}

// An agent that has changed nothing leaves nothing. It has ended with its report.
func TestO8_AgentWithoutChanges(t *testing.T) {
	f := newFarm(t)
	f.script("look", f.runs("cat f.txt; echo x >ignored; git rev-parse --abbrev-ref HEAD"), fakellm.Turn{Text: "seen"})
	f.script("go", calls(t, "Agent", isolated("look")),
		calls(t, "SendMessage", object{"to": "agent-1", "message": "x"}), fakellm.Turn{Text: "done"})
	f.submit(f.config(), "go", f.watch)
	if tops, branches := f.worktrees(); tops != nil || branches != nil {
		t.Errorf("worktrees %v, branches %v are left", tops, branches)
	}
	if list, err := os.ReadDir(filepath.Join(f.home, "attractor/worktrees")); err != nil || len(list) > 0 {
		t.Errorf("%v, %v are left", list, err)
	}
	for _, want := range []string{"seen", "which is gone", "agent agent-1 has ended"} {
		if !strings.Contains(f.lastResults(), want) {
			t.Errorf("no %q in %s", want, f.lastResults())
		}
	}
}

// An agent in a worktree is asked about as a session there: about commands, also where they use
// what is outside of it, such as the session's own directory. Its file tools stay in it, and nobody
// is asked. What a person lets the session do always, it may do, too. What a person lets it do in
// its directory, the session may not do in its own.
func TestO8_AgentsAsk(t *testing.T) {
	f := newFarm(t)
	f.write(".claude/settings.json", `{"permissions":{"allow":["Edit(/free/**)"],"deny":["Edit(/no/**)"]},
		"hooks":{"PreToolUse":[{"matcher":"Write","hooks":[{"type":"command","command":"exit 2","if":"Edit(./hooked/**)"}]}]}}`)
	f.git("add", ".")
	f.git("commit", "-qm", "rules")
	edit := func(name string) fakellm.Turn {
		return calls(t, "Write", object{"file_path": name, "content": "x\n"})
	}
	f.script("work", edit("free/a"), edit("no/a"), edit(f.dir+"/no/a"), edit("hooked/a"), edit("own"), edit("more"),
		edit(f.dir+"/f.txt"), f.runs("echo x >"+f.dir+"/f.txt"),
		f.runs("mkdir made"), fakellm.Turn{Text: "done"})
	f.script("go", f.runs("mkdir before"), calls(t, "Agent", isolated("work")), edit("mine"),
		fakellm.Turn{Text: "done"})
	var asked []string
	c := f.config()
	c.Mode, c.TrustProject = permit.ModeAsk, true
	c.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		what := q.Access.Command
		for _, name := range q.Access.Paths {
			what += filepath.Base(name)
		}
		asked = append(asked, q.AgentID+":"+what)
		if (q.AgentID != "") != strings.HasPrefix(q.CommandDir, f.home) {
			t.Errorf("%s is asked about in the directory %q", what, q.CommandDir)
		}
		if strings.Contains(what, "f.txt") {
			return permit.Answer{}, nil
		}
		return permit.Answer{Verdict: tool.Allow, Remember: true}, nil
	}
	f.submit(c, "go", f.watch)
	if got := strings.Join(asked, " "); got != ":mkdir before agent-1:own agent-1:echo x >"+f.dir+"/f.txt :mine" {
		t.Errorf("asked about %s", got)
	}
	if data := f.read("f.txt"); !strings.HasPrefix(data, "1\n") {
		t.Errorf("the session's file is %q", data)
	}
	tops, _ := f.worktrees()
	if len(tops) != 1 {
		t.Fatalf("worktrees %v", tops)
	}
	for name, there := range map[string]bool{"free/a": true, "no/a": false, "hooked/a": false, "own": true,
		"more": true, "made": true} {
		if _, err := os.Stat(filepath.Join(tops[0], name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(f.dir, name)); err == nil {
			t.Errorf("the session's directory has %s", name)
		}
	}
}

// Where there can be no worktree, the call says why, and what to do.
func TestO8_AgentsWithoutWorktrees(t *testing.T) {
	for want, change := range map[string]func(f *farm, c *config){
		"not in a git repository": func(f *farm, c *config) { c.Dir = f.kept },
		"in plan mode":            func(_ *farm, c *config) { c.Mode = permit.ModePlan },
		"on another machine":      func(_ *farm, c *config) { c.EnvCommand = []string{"sh", "-c"} },
		"watches over its files": func(_ *farm, c *config) {
			c.Instrument = func(o *agent.Options, _ *secret.Masker) { o.Env = observed{o.Env} }
		},
		"git may start a program": func(f *farm, _ *config) { f.git("config", "core.fsmonitor", "touch x") },
	} {
		t.Run(want, func(t *testing.T) {
			f := newFarm(t)
			f.script("go", calls(t, "Agent", isolated("work")), fakellm.Turn{Text: "done"})
			c := f.config()
			change(f, &c)
			f.submit(c, "go", f.watch)
			if !strings.Contains(f.lastResults(), want) {
				t.Errorf("no %q in %s", want, f.lastResults())
			}
			if tops, branches := f.worktrees(); tops != nil || branches != nil {
				t.Errorf("worktrees %v, branches %v", tops, branches)
			}
		})
	}
}

// An agent that is cut off leaves its work, and the model is told of it, also without a report.
func TestO8_AgentIsCutOff(t *testing.T) {
	f := newFarm(t)
	f.script("work", f.runs("echo x >new"), f.runs("sleep 1000"))
	f.script("go", calls(t, "Agent", isolated("work")), fakellm.Turn{Text: "done"})
	f.script("on", fakellm.Turn{Text: "done"})
	setup, err := prepare(t.Context(), f.config())
	if err != nil {
		t.Fatal(err)
	}
	f.watch(&setup.Options)
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		await.Holds(func() bool {
			tops,
				_ := filepath.Glob(f.home + "/attractor/worktrees/*/*/new")
			return len(tops) > 0
		})
		session.Interrupt()
	}()
	if _, err := session.Submit(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	delete(f.scripts, "go")
	_, err = session.Submit(t.Context(), "on")
	if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	tops, _ := f.worktrees()
	if len(tops) != 1 || strings.Count(f.lastRequest(), "has left its work in the git worktree "+tops[0]) != 1 {
		t.Errorf("worktrees %v; told %s", tops, f.lastRequest())
	}
}

// observed is an environment with something around it.
type observed struct{ env.Environment }

// A session that ends while its agents work ends them first. What they have left is there when it
// goes on, and its model is told, once. An agent that has left nothing has left no worktree.
func TestO8_SessionEndsBeforeItsAgents(t *testing.T) {
	f := newFarm(t)
	f.script("work", f.runs("echo x >new; sleep 1000"))
	f.script("look", f.runs("echo x >ignored; sleep 1000"))
	f.script("go", calls(t, "Agent", isolated("work", "run_in_background", true), "Agent",
		isolated("look", "run_in_background", true)), fakellm.Turn{Text: "done"})
	setup, session := f.begin(f.config())
	if _, err := session.Submit(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	await.For(t, "the agents work", func() bool {
		one, err1 := filepath.Glob(f.home + "/attractor/worktrees/*/*/new")
		two, err2 := filepath.Glob(f.home + "/attractor/worktrees/*/*/ignored")
		return err1 == nil && err2 == nil && len(one) == 1 && len(two) == 1
	})
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	tops, branches := f.worktrees()
	if len(tops) != 1 || len(branches) != 1 {
		t.Fatalf("worktrees %v, branches %v", tops, branches)
	}
	delete(f.scripts, "go")
	f.script("on", fakellm.Turn{Text: "done"})
	c := f.config()
	c.Resume = session.ID()
	for range 2 {
		f.submit(c, "on", f.watch)
		if n := strings.Count(f.lastRequest(), "has left its work in the git worktree "+tops[0]); n != 1 {
			t.Errorf("told %d times: %s", n, f.lastRequest())
		}
	}
	f.clean()
}

// clean checks that nothing in the repository has changed.
func (f *farm) clean() {
	f.Helper()
	if out := f.git("status", "--porcelain"); out != "" {
		f.Errorf("the repository has changed: %s", out)
	}
}
