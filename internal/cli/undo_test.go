//go:build unix

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/undo"
)

// treeOf returns a line for each file, link and directory below dir but .git, with its permissions
// and content.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch info.Mode().Type() {
		case fs.ModeSymlink:
			content, err = os.Readlink(name)
		case 0:
			var data []byte
			data, err = os.ReadFile(name)
			content = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		fmt.Fprintf(&b, "%s %v %s\n", strings.TrimPrefix(name, dir+"/"), info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mess is a command that changes a tree in all ways.
const mess = `rm -r src && mkdir -p new/empty && ln -s ../a.txt new/link && printf 'two\n' >a.txt && chmod 755 run.sh && mv move.txt moved.txt && printf '\000\001' >bin && rm odd* && echo >"$(printf 'new\nodd')"`

// messyHome returns a directory in which a session has made a mess, and how it looked before and
// after that.
func messyHome(t *testing.T) (h *home, before, after string) {
	t.Helper()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": mess})), fakellm.Turn{Text: "done"},
		say("", use("write_file", map[string]any{"file_path": "late.txt", "content": "late\n"})),
		fakellm.Turn{Text: "done, too"}, fakellm.Turn{Text: "I see"})
	h = newHome(t, url)
	if err := os.MkdirAll(filepath.Join(h.dir, "src/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(h.dir, "ignored"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.txt": "one\n", "run.sh": "exit\n", "src/deep/b.txt": "b\n",
		"move.txt": "moves\n", "bin": "\x00", "ignored/big": "x", ".gitignore": "ignored/\n", "odd\nname": "x"} {
		h.file(name, text)
	}
	if err := os.Mkdir(filepath.Join(h.dir, "src/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	before = treeOf(t, h.dir)
	h.run(0, "run", "--yes", "make a mess")
	return h, before, treeOf(t, h.dir)
}

// A mess that a command has made is shown, taken back, and made again. The model is told.
func TestO4_UndoAndRedo(t *testing.T) {
	t.Parallel()
	h, before, after := messyHome(t)
	id := h.sessions()[0].ID
	diff := h.run(0, "sessions", "diff", id).stdout
	for _, want := range []string{"-one\n+two\n", "src/deep/b.txt", "rename from move.txt", "new/link", "new/empty"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, diff)
		}
	}
	if stat := h.run(0, "sessions", "diff", id, "--stat").stdout; !strings.Contains(stat, "a.txt | +1 -1\n") ||
		!strings.Contains(stat, "move.txt => moved.txt | +0 -0") {
		t.Errorf("--stat:\n%s", stat)
	}
	if out := h.run(exitUsage, "undo"); !strings.Contains(out.stderr, "pass --yes") || treeOf(t, h.dir) != after {
		t.Errorf("without a terminal: %s", out.stderr)
	}
	if out := h.run(0, "undo", "--dry-run"); !strings.Contains(out.stdout, "a.txt") || !strings.Contains(out.stdout,
		"ignored/") || treeOf(t, h.dir) != after {
		t.Errorf("--dry-run: %s", out.stdout)
	}
	out := h.run(0, "undo", "--yes")
	if now := treeOf(t, h.dir); now != before || !strings.Contains(out.stdout, "\nTaken back: ") {
		t.Errorf("after undo:\n%s\nwant\n%s\n%s", now, before, out.stdout)
	}
	out = h.run(0, "undo", id[:8], "--redo", "--yes")
	if now := treeOf(t, h.dir); now != after || !strings.HasSuffix(out.stdout, "run: attractor undo "+id[:8]+"\n") {
		t.Errorf("after redo:\n%s\nwant\n%s", now, after)
	}
	h.run(0, "undo", "--yes")
	if now := treeOf(t, h.dir); now != before {
		t.Errorf("after another undo:\n%s\nwant\n%s", now, before)
	}
	if out := h.run(exitFailed, "undo", "--yes"); !strings.Contains(out.stderr,
		"nothing that is not taken back already") {
		t.Errorf("an undo of nothing: %s", out.stderr)
	}
	h.run(0, "sessions", "replay", id)
}

// Nothing is put back where a link leads that has taken the place of the session's directory: what
// is src/deep/b.txt in it may be a hook of git there.
func TestO4_UndoWhereTheDirectoryLeads(t *testing.T) {
	t.Parallel()
	h, before, after := messyHome(t)
	id, was, other := h.sessions()[0].ID, h.dir+".was", t.TempDir()
	if err := errors.Join(os.Rename(h.dir, was), os.Symlink(other, h.dir)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"undo", "--yes"}, {"undo", id, "--yes"}, {"undo", id, "0", "--force", "--yes"}} {
		if out := h.run(exitUsage, args...); !strings.Contains(out.stderr, "leads to "+other+" now") ||
			treeOf(t, other) != "" || treeOf(t, was) != after {
			t.Errorf("%q: %s\n%s", args, out.stderr, treeOf(t, other))
		}
	}
	if err := errors.Join(os.Remove(h.dir), os.Rename(was, h.dir)); err != nil {
		t.Fatal(err)
	}
	if h.run(0, "undo", "--yes"); treeOf(t, h.dir) != before {
		t.Errorf("after the directory is back:\n%s", treeOf(t, h.dir))
	}
}

// Undo by turn takes back only what came after it. The model is told what was taken back, by its
// next answer.
func TestO4_UndoByTurn(t *testing.T) {
	t.Parallel()
	h, _, after := messyHome(t)
	id := h.sessions()[0].ID
	h.run(0, "run", "--yes", "--resume", id, "and a file")
	show := h.run(0, "sessions", "show", id).stdout
	if diff := h.run(0, "sessions", "diff", id, "4").stdout; !strings.Contains(diff, "late.txt") ||
		strings.Contains(diff, "a.txt") {
		t.Errorf("the changes after turn 4:\n%s\n%s", diff, show)
	}
	// a fork behind turn 2 has it, too
	if diff := h.run(0, "sessions", "diff", id, "2").stdout; strings.Contains(diff, "a.txt") {
		t.Errorf("the changes after turn 2:\n%s", diff)
	}
	for _, turn := range []string{"-1", "x", "99", ""} {
		h.run(exitUsage, "sessions", "diff", id, turn)
		h.run(exitUsage, "undo", "--yes", id, turn)
	}
	if out := h.run(0, "undo", id, "4", "--yes", "--json").stdout; !strings.Contains(out, `"late.txt"`) ||
		strings.Contains(out, `"a.txt"`) {
		t.Errorf("--json: %s", out)
	}
	if now := treeOf(t, h.dir); now != after {
		t.Errorf("after undo:\n%s\nwant\n%s", now, after)
	}
	h.run(0, "run", "--yes", "--resume", id, "what now?")
	text := h.run(0, "sessions", "export", id).stdout
	if !strings.Contains(text,
		"The user has taken back what was changed after turn 4. These files are as they were before: late.txt.") {
		t.Errorf("the model was told:\n%s", text)
	}
	h.run(0, "sessions", "replay", id)
}

// What somebody else has changed since is left alone and named, unless the user forces it.
func TestO7_SomebodyElsesChanges(t *testing.T) {
	t.Parallel()
	h, before, _ := messyHome(t)
	h.file("a.txt", "mine\n")
	h.file("mine.txt", "mine\n")
	out := h.run(0, "undo", "--yes")
	now := treeOf(t, h.dir)
	if !strings.Contains(out.stdout, "a.txt: changed by somebody else since") || readText(t, h, "a.txt") != "mine\n" ||
		!strings.Contains(now, "mine.txt") || !strings.Contains(now, "src/deep/b.txt") {
		t.Errorf("after undo:\n%s\n%s", now, out.stdout)
	}
	h.run(0, "undo", "--yes", "--force")
	if err := os.Remove(filepath.Join(h.dir, "mine.txt")); err != nil {
		t.Fatal(err)
	}
	if now := treeOf(t, h.dir); now != before {
		t.Errorf("after undo --force:\n%s\nwant\n%s", now, before)
	}
	h.run(0, "undo", "--redo", "--yes")
	if readText(t, h, "a.txt") != "mine\n" {
		t.Error("what was forced away cannot be had again")
	}
}

// An undo counts for the input whose changes it takes back, also when the session has been asked
// something since: another one goes on with what is left, and does not take the first one back.
func TestO4_UndoAfterUndo(t *testing.T) {
	t.Parallel()
	h, before, _ := messyHome(t)
	id := h.sessions()[0].ID
	h.url, _ = serve(t, nil, fakellm.Turn{}, fakellm.Turn{}, fakellm.Turn{Text: "nothing to do"})
	h.run(0, "run", "--yes", "--resume", id, "and now?")
	h.file("a.txt", "mine\n")
	h.run(0, "undo", "--yes")
	left := treeOf(t, h.dir)
	if out := h.run(0, "undo", "--yes"); treeOf(t, h.dir) != left {
		t.Errorf("after another undo:\n%s\nwant\n%s\n%s", treeOf(t, h.dir), left, out.stdout)
	}
	if out := h.run(0, "undo", "--yes", "--force"); treeOf(t, h.dir) != before {
		t.Errorf("after undo --force:\n%s\nwant\n%s\n%s", treeOf(t, h.dir), before, out.stdout)
	}
}

// An undo that was interrupted is finished by the next one, of the same session only, and sessions
// in the directory say so.
func TestO7_InterruptedUndo(t *testing.T) {
	t.Parallel()
	h, before, _ := messyHome(t)
	id := h.sessions()[0].ID
	var planned struct{ Plan json.RawMessage }
	if err := json.Unmarshal([]byte(h.run(0, "undo", "--dry-run", "--json").stdout), &planned); err != nil {
		t.Fatal(err)
	}
	undos := filepath.Join(h.home, ".local/state/attractor/checkpoints/undo")
	sum := sha256.Sum256([]byte(realDir(t, h.dir)))
	file := filepath.Join(undos, fmt.Sprintf("%x.%s", sum[:16], id))
	if err := errors.Join(os.MkdirAll(undos, 0o700), os.WriteFile(file, planned.Plan, 0o600),
		os.Remove(filepath.Join(h.dir, "moved.txt"))); err != nil { // killed after a step
		t.Fatal(err)
	}
	h.url, _ = serve(t, nil, fakellm.Turn{Text: "hello"})
	if out := h.run(0, "run", "--yes", "--no-checkpoints", "hello"); !strings.Contains(out.stderr,
		"an undo in this directory was interrupted") {
		t.Errorf("a session says %s", out.stderr)
	}
	out := h.run(0, "undo", id, "--yes")
	if now := treeOf(t, h.dir); now != before || !strings.Contains(out.stdout, "the undo that was interrupted") {
		t.Errorf("after undo:\n%s\nwant\n%s\n%s", now, before, out.stdout)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the plan is still there")
	}
	if out := h.run(exitFailed, "undo", id, "--yes"); !strings.Contains(out.stderr, "has changed nothing") {
		t.Errorf("an undo of nothing: %s", out.stderr)
	}
}

// realDir returns a directory without symbolic links.
func realDir(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// git runs git in the working directory and returns what it prints.
func (h *home) git(args ...string) string {
	h.Helper()
	cmd := exec.Command(peer.Need(h, "git"), append([]string{"-C", h.dir, "-c", "user.name=a", "-c", "user.email=a@b"},
		args...)...)
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commits of a session stay; --git puts HEAD, its branch and the index back.
func TestO4_UndoInARepository(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("",
		use("shell", map[string]any{"command": "echo two >a.txt && git -c user.name=a -c user.email=a@b commit " +
			"-qam second"})), fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.file("a.txt", "one\n")
	run := h.git
	run("init", "-q")
	run("add", ".")
	run("commit", "-qm", "first")
	first := run("rev-parse", "HEAD")
	h.run(0, "run", "--yes", "commit")
	second := run("rev-parse", "HEAD")
	if out := h.run(0, "undo", "--yes"); !strings.Contains(out.stdout, "--git puts them back") ||
		run("rev-parse", "HEAD") != second || readText(t, h, "a.txt") != "one\n" {
		t.Errorf("undo: %s", out.stdout)
	}
	h.run(0, "undo", "--redo", "--yes")
	if out := h.run(0, "undo", "--yes", "--git"); !strings.Contains(out.stdout, second) ||
		run("rev-parse", "HEAD") != first || run("status", "--porcelain") != "" {
		t.Errorf("undo --git: %s\n%s", out.stdout, run("status"))
	}
}

// What subagents change belongs to the session, and is taken back with it.
func TestO3_SubagentsCount(t *testing.T) {
	t.Parallel()
	script := func(r *fakellm.Request) fakellm.Turn {
		switch text := lastText(r); {
		case strings.Contains(text, "write child.txt"):
			return say("", use("write_file", map[string]any{"file_path": "child.txt", "content": "child"}))
		case strings.Contains(text, "delegate"):
			return say("", use("spawn_agent", map[string]any{"task": "write child.txt"}))
		case strings.Contains(text, "agent_id"):
			return say("", use("wait", map[string]any{"agent_id": "agent-1"}))
		}
		return fakellm.Turn{Text: "done"}
	}
	web := httptest.NewServer(fakellm.New(script, fakellm.Options{}))
	t.Cleanup(web.Close)
	h := newHome(t, web.URL)
	h.run(0, "run", "--yes", "delegate")
	if readText(t, h, "child.txt") != "child" {
		t.Fatal("the agent has not written")
	}
	if out := h.run(0, "undo", "--yes"); treeOf(t, h.dir) != "" {
		t.Errorf("after undo:\n%s\n%s", treeOf(t, h.dir), out.stdout)
	}
}

// lastText returns the text of the last message of a request.
func lastText(r *fakellm.Request) string {
	last := r.Messages[len(r.Messages)-1]
	text := last.Parts.Text()
	for _, part := range last.Parts {
		if result, ok := part.(llm.ToolResult); ok {
			text += result.Content.Text()
		}
	}
	return text
}

// readText returns the content of a file of a directory.
func readText(t *testing.T, h *home, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The program's own files are not recorded in a home directory, however that is named.
func TestO3_OwnFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo x >made"})),
			fakellm.Turn{Text: "done"})
		h := newHome(t, url)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(h.home, link); err != nil {
			t.Fatal(err)
		}
		dir, vars := link, []string(nil) // the working directory or HOME is named by the link
		if linked {
			dir, vars = h.home, []string{"HOME=" + link}
		}
		h.runWith(0, vars, "run", "--yes", "--dir", dir, "x")
		if diff := h.runWith(0, vars, "sessions", "diff", h.sessions()[0].ID).stdout; !strings.Contains(diff,
			"+++ b/made\n") || strings.Contains(diff, ".local") {
			t.Errorf("linked %v: the changes are\n%s", linked, diff)
		}
	}
}

// While a session is taken back, a full store drops none of its trees.
func TestO7_UndoKeepsItsTrees(t *testing.T) {
	t.Parallel()
	h, before, _ := messyHome(t)
	state := filepath.Join(h.home, ".local/state/attractor")
	points, err := undo.Newest(t.Context(), journal.NewDir(filepath.Join(state, "sessions")), h.dir)
	if err != nil {
		t.Fatal(err)
	}
	e, closeIt, err := attractor.OpenPoints(t.Context(), points, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	undo, err := undo.New(t.Context(), undo.Options{Checkpoints: filepath.Join(state, "checkpoints"), Points: points,
		Env: e})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	full, err := checkpoint.OpenDir(filepath.Join(state, "checkpoints"),
		checkpoint.DirOptions{Max: 1, Evicted: func(owner string) { got = append(got, owner) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := full.Collect(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("during the undo: %+v, %v", got, err)
	}
	if _, err := undo.Run(t.Context(), func(context.Context, string, json.RawMessage,
		string) error {
		return nil
	}); err != nil {
		t.Error(err)
	}
	if now := treeOf(t, h.dir); now != before {
		t.Errorf("after undo:\n%s\nwant\n%s", now, before)
	}
	if err := errors.Join(undo.Close(), closeIt()); err != nil {
		t.Fatal(err)
	}
	if err := full.Collect(t.Context()); err != nil || len(got) != 1 || got[0] != points.Session {
		t.Errorf("after the undo: %+v, %v", got, err)
	}
}

// Undo refuses while a session uses the directory, or one around it, also one that records nothing,
// and names it.
func TestO7_UndoWaitsForSessions(t *testing.T) {
	t.Parallel()
	h, _, after := messyHome(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	id := h.sessions()[0].ID
	for _, flag := range []string{"--no-checkpoints", "--no-journal", "--web"} {
		url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "cat " + fifo})),
			fakellm.Turn{Text: "done"})
		other := *h
		other.url = url
		cmd := other.command("run", "--yes", flag, "wait")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // when the session's command reads
		if err != nil {
			t.Fatal(err)
		}
		if out := h.run(exitFailed, "undo", "--yes", id); !strings.Contains(out.stderr,
			fmt.Sprintf("(process %d)", cmd.Process.Pid)) {
			t.Errorf("%s: %s", flag, out.stderr)
		}
		if err := errors.Join(w.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	}
	if now := treeOf(t, h.dir); now != after {
		t.Errorf("the tree is\n%s\nwant\n%s", now, after)
	}
}

// A fork behind a turn has the conversation and the files of that turn in a directory of its own.
func TestO5_ForkWithFiles(t *testing.T) {
	t.Parallel()
	h, _, after := messyHome(t)
	id := h.sessions()[0].ID
	h.run(0, "run", "--yes", "--resume", id, "and a file")
	later := treeOf(t, h.dir)
	dir := filepath.Join(t.TempDir(), "deep", "new")
	// the third answer of the fork
	h.url, _ = serve(t, nil, fakellm.Turn{}, fakellm.Turn{}, fakellm.Turn{Text: "I see"})
	out := h.run(0, "run", "--yes", "--fork", id+"@4", "--dir", dir, "what now?")
	if !strings.Contains(out.stderr, "of turn 4 are in "+dir) || !strings.Contains(out.stderr, "ignored/") {
		t.Errorf("it says %s", out.stderr)
	}
	want := withoutIgnored(after)
	if now := treeOf(t, dir); now != want {
		t.Errorf("the files are\n%s\nwant\n%s", now, want)
	}
	if now := treeOf(t, h.dir); now != later {
		t.Errorf("the first directory is\n%s\nwant\n%s", now, later)
	}
	fork := h.sessions()[0]
	if fork.ForkOf != id {
		t.Fatalf("the fork is %+v", fork)
	}
	second := *h
	second.dir = dir
	second.url, _ = serve(t, nil, fakellm.Turn{}, fakellm.Turn{}, fakellm.Turn{},
		say("", use("shell", map[string]any{"command": "rm -r new; echo mine >b"})), fakellm.Turn{Text: "done"})
	second.run(0, "run", "--yes", "--resume", fork.ID, "go on")
	if treeOf(t, dir) == want {
		t.Error("the fork has changed nothing")
	}
	second.run(0, "undo", "--yes")
	if now := treeOf(t, dir); now != want {
		t.Errorf("after undo in the new directory the files are\n%s\nwant\n%s", now, want)
	}
	h.run(0, "sessions", "rm", id) // the fork keeps what it needs
	if diff := h.run(0, "sessions", "diff", fork.ID).stdout; !strings.Contains(diff, "-one\n+two\n") {
		t.Errorf("the fork's changes:\n%s", diff)
	}
	sessions := len(h.sessions())
	for want, args := range map[string][]string{
		"is not empty":   {"--fork", fork.ID + "@4", "--dir", dir},
		"has no turn 99": {"--fork", fork.ID + "@99", "--dir", dir + "x"},
	} {
		if out := h.run(exitUsage, append([]string{"run", "--yes", "x"}, args...)...); !strings.Contains(out.stderr,
			want) {
			t.Errorf("%v: %s", args, out.stderr)
		}
	}
	if _, err := os.Stat(dir + "x"); err == nil || len(h.sessions()) != sessions {
		t.Error("a refused fork has left something")
	}
}

// The directory of a fork is no repository that the files of the session make it, by being where
// .git is not.
func TestO5_ForkIsNoRepository(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo x >new"})), say("done"), say("three"))
	h := newHome(t, url)
	ran := filepath.Join(t.TempDir(), "ran")
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch '" + ran +
		"'\"\n"
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "objects/x": "",
		"refs/x": ""} {
		h.there(name, text)
	}
	h.run(0, "run", "--yes", "go")
	dir := filepath.Join(t.TempDir(), "new")
	out := h.run(0, "run", "--yes", "--fork", h.sessions()[0].ID+"@1", "--dir", dir, "otherwise")
	if !strings.Contains(out.stderr, "such as .git and HEAD") {
		t.Errorf("it says %s", out.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "config")); err != nil {
		t.Error(err)
	}
	status := exec.Command("git", "status")
	status.Dir = dir
	said, err := status.CombinedOutput()
	if _, there := os.Stat(ran); there == nil || err == nil {
		t.Errorf("git ran what the files say: %v, %v: %s", there, err, said)
	}
}

// withoutIgnored removes the lines of ignored files from those of a tree.
func withoutIgnored(tree string) string {
	var b strings.Builder
	for line := range strings.Lines(tree) {
		if !strings.HasPrefix(line, "ignored") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Without checkpoints nothing is recorded, and that is said where something is to be taken back.
func TestO4_WithoutCheckpoints(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo x >made"})),
		fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "--no-checkpoints", "x")
	id := h.sessions()[0].ID
	if out := h.run(exitFailed, "undo", "--yes"); !strings.Contains(out.stderr,
		"no session of "+h.dir+" has changed anything") {
		t.Errorf("undo: %s", out.stderr)
	}
	if out := h.run(exitFailed, "undo", "--yes", id); !strings.Contains(out.stderr, "has changed nothing") {
		t.Errorf("undo of the session: %s", out.stderr)
	}
	if out := h.run(exitUsage, "run", "--yes", "--fork", id+"@2", "--dir", filepath.Join(t.TempDir(), "new"),
		"x"); !strings.Contains(out.stderr, "no tree was recorded") {
		t.Errorf("fork: %s", out.stderr)
	}
}

// What was recorded of a session goes with it.
func TestO7_RemovedSessions(t *testing.T) {
	t.Parallel()
	h, _, _ := messyHome(t)
	store := filepath.Join(h.home, ".local/state/attractor/checkpoints")
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the store: %v, %v", info, err)
	}
	owners := func() int {
		files, err := os.ReadDir(filepath.Join(store, "trees"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if owners() != 1 {
		t.Fatalf("%d owners", owners())
	}
	h.run(0, "sessions", "rm", h.sessions()[0].ID)
	if owners() != 0 {
		t.Errorf("%d owners are left", owners())
	}
}

// What a command has changed that was killed with the session is told as unknown, also when the
// session has gone on since, and stays unless the user forces it.
func TestO7_KilledCommand(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo first >a.txt"})),
		say("", use("shell", map[string]any{"command": "echo killed >>a.txt; echo killed >b.txt; cat " + fifo})),
		fakellm.Turn{Text: "I see"}, fakellm.Turn{Text: "yes"})
	h := newHome(t, url)
	h.file("a.txt", "mine\n")
	cmd := h.command("run", "--yes", "write")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // when the command reads
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	id := h.sessions()[0].ID
	for _, prompt := range []string{"what happened?", "is that all?", ""} {
		out := h.run(0, "undo", id, "0", "--dry-run")
		for _, name := range []string{"a.txt", "b.txt"} {
			if !strings.Contains(out.stdout, name+": changed while a call was killed") {
				t.Errorf("before %q, of %s: %s", prompt, name, out.stdout)
			}
		}
		if prompt != "" {
			h.run(0, "run", "--yes", "--resume", id, prompt)
		}
	}
	h.run(0, "undo", id, "0", "--yes", "--force")
	if now := treeOf(t, h.dir); !strings.HasPrefix(now, "a.txt") || strings.Contains(now, "b.txt") ||
		readText(t, h, "a.txt") != "mine\n" {
		t.Errorf("after undo --force:\n%s", now)
	}
}
