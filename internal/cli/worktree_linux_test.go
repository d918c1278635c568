package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/trust"
)

// A session with --worktree leaves the files of the repository alone. Its worktree stays if it has
// work in it, and goes otherwise. What the user has trusted in the repository is trusted there.
func TestO8_RunInAWorktree(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	// runs runs a session with a command, and returns its result.
	runs := func(command string, args ...string) (result, stderr string) {
		url, server := serve(t, nil, say("", use("shell", map[string]any{"command": command})),
			fakellm.Turn{Text: "done"})
		h.url = url
		stderr = h.run(0, append([]string{"run"}, args...)...).stderr
		return lastResults(server.Requests()[1].Messages), stderr
	}
	h.file("a.txt", "one\n")
	h.put(".claude/settings.json", `{"permissions":{"allow":["Bash(mkdir -p out)"]}}`)
	h.git("init", "-q", "-b", "main")
	h.git("config", "user.name", "A")
	h.git("config", "user.email", "a@example.com")
	h.git("add", ".")
	h.git("commit", "-qm", "one")
	h.file("later.txt", "not committed\n")
	_, stderr := runs("echo two >a.txt && git commit -qam two && echo three >b.txt", "--yes", "--worktree=fix",
		"change it")
	top := h.sessions()[0].Dir
	for _, want := range []string{"not committed (paths: 1)",
		"The worktree " + top + " stays, on the branch attractor/fix: " +
			"it has 1 commit, and 1 file with changes that are not committed.", "--worktree=fix"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(data) != "one\n" {
		t.Errorf("the repository has %q, %v", data, err)
	}
	if seen, _ := runs("cat a.txt b.txt && rm b.txt", "--yes", "--worktree=fix", "look"); !strings.Contains(seen,
		"two\nthree\n") {
		t.Errorf("the second session saw %q", seen)
	}
	h.git("merge", "-q", "attractor/fix")
	h.onTerminal(0, "y\n", "trust")
	seen, stderr := runs("mkdir -p out && echo made", "--allow-tool", "Read", "--worktree=fix", "do nothing")
	if !strings.Contains(stderr, "The worktree "+top+" is removed: nothing is lost with it.") {
		t.Errorf("stderr: %s", stderr)
	}
	if strings.TrimSpace(seen) != "made" {
		t.Errorf("what the project allows has the result %q", seen)
	}
	if _, err := os.Stat(top); err == nil {
		t.Error("it is there")
	}
	if d := h.decisions(); len(d) != 1 || d[0].State != trust.Trusted {
		t.Errorf("decisions: %v", d)
	}
	out := h.run(exitUsage, "run", "--yes", "--resume", h.sessions()[0].ID, "go on")
	if !strings.Contains(out.stderr, "name another directory to go on in (--dir)") {
		t.Errorf("resumed without its directory: %s", out.stderr)
	}
	h.url, _ = serve(t, nil, say("", use("shell", map[string]any{"command": "ls"})), fakellm.Turn{Text: "done"})
	stderr = h.run(exitLimit, "run", "--yes", "--max-turns", "1", "--worktree=fix", "look").stderr
	id := h.sessions()[0].ID
	want := "To continue the session, run: attractor run --resume " + id[:8] + " --dir " + h.dir + "\n"
	if !strings.HasSuffix(stderr, want) {
		t.Errorf("a limit says %q, want %q at the end", stderr, want)
	}
	h.run(0, "run", "--yes", "--resume", id[:8], "--dir", h.dir, "go on")
	s := onScreen(t, chatting(h, "--worktree=fix", "look"), 200, 24)
	s.expect("done · ")
	s.press("C-d")
	s.expect(" --dir " + h.dir)
	if code := s.ended(); code != 0 {
		t.Errorf("a conversation has the exit code %d", code)
	}
	for _, args := range [][]string{{"--worktree", "fix", "the", "test"}, {"--worktree=a/b", "x"}, {"--worktree=", "x"},
		{"--worktree", "--continue", "x"}, {"--worktree", "--env-command", "sh -c", "x"}} {
		h.run(exitUsage, append([]string{"run", "--yes"}, args...)...)
	}
}

// A session is killed while two agents, of a kind that works in worktrees, are at work. When it
// goes on, the worktree with changes is there, which the model and the person are told once, and
// the other one goes. That goes, too, when its work was brought home.
func TestO8_KilledWithAgentsInWorktrees(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	spawn := func(task string) fakellm.Call {
		return use("spawn_agent", map[string]any{"task": task, "agent": "worker"})
	}
	server := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		switch first := r.Messages[0].Parts.Text(); {
		case strings.HasPrefix(first, "change"):
			return say("", use("shell", map[string]any{"command": "echo x >new; echo x >ignored; sleep 1000"}))
		case strings.HasPrefix(first, "look"):
			return say("", use("shell", map[string]any{"command": "echo x >ignored; sleep 1000"}))
		case r.Turn() == 0:
			return say("", spawn("change it"), spawn("look at it"))
		case r.Turn() == 1:
			return say("", use("wait", map[string]any{"agent_id": "agent-1"}))
		}
		return fakellm.Turn{Text: "done"}
	}, fakellm.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	h.url = web.URL
	if err := os.MkdirAll(h.home+"/.claude/agents", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.home+"/.claude/agents/worker.md",
		[]byte("---\nname: worker\ndescription: Works.\nisolation: worktree\n---\nWork."), 0o600); err != nil {
		t.Fatal(err)
	}
	h.file(".gitignore", "ignored\n")
	h.git("init", "-q", "-b", "main")
	h.git("add", ".")
	h.git("commit", "-qm", "one")
	trees := func(file string) []string {
		list, err := filepath.Glob(h.home + "/.local/share/attractor/worktrees/*/*/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	cmd := h.start("run", "--yes", "go")
	await.For(t, "the agents are at work", func() bool { return len(trees("ignored")) == 2 })
	if err := cmd.kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.wait() // it was killed
	var resume []string
	for _, s := range h.sessions() {
		if s.Task == "go" {
			resume = []string{"run", "--yes", "--resume", s.ID, "go on"}
		}
	}
	out := h.run(0, resume...)
	left := trees("new")
	if len(left) != 1 || len(trees(".git")) != 1 {
		t.Fatalf("the worktrees %v are left", trees("*"))
	}
	top := filepath.Dir(left[0])
	told := "An agent of an earlier run of this session has left its work in the git worktree " + top
	if last := server.Requests(); !strings.Contains(out.stderr, "The worktree "+top+" stays") ||
		!strings.Contains(string(last[len(last)-1].Body), told) {
		t.Errorf("the person was told %s", out.stderr)
	}
	h.git("-C", top, "add", ".")
	h.git("-C", top, "commit", "-qm", "two")
	h.git("merge", "-q", "attractor/"+filepath.Base(top))
	h.run(0, resume...)
	last := server.Requests()
	if body := string(last[len(last)-1].Body); strings.Count(body, told) != 1 || len(trees("*")) != 0 {
		t.Errorf("%v are left; told %s", trees("*"), body)
	}
	if branches := h.git("branch", "--format=%(refname:short)"); strings.TrimSpace(branches) != "main" {
		t.Errorf("branches: %s", branches)
	}
}
