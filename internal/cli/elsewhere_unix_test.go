//go:build unix

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// box is another machine, as far as a session can tell: a command leads to it, and it has its own
// directory, home and variables.
type box struct {
	dir, home string
	command   string // its file
}

// newBox makes a box. Its command runs the words that follow it, as docker exec does, or gives them
// to a shell, as ssh does. Without a helper nothing but a shell can be used there.
func (h *home) newBox(shell, helper bool) *box {
	h.Helper()
	b := &box{dir: h.TempDir(), home: h.TempDir(), command: filepath.Join(h.TempDir(), "box")}
	self, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	bin := h.TempDir()
	if helper {
		b.put(h, filepath.Join(bin, "attractor"), "#!/bin/sh\nexport ATTRACTOR_TEST_MAIN=1\nexec '"+self+"' \"$@\"\n")
	} else { // of a machine for which nobody has a helper
		b.put(h, filepath.Join(bin, "uname"), "#!/bin/sh\necho Unknown\n")
	}
	words := `"$@"`
	if shell {
		words = `sh -c "$*"`
	}
	b.put(h, b.command, fmt.Sprintf(
		"#!/bin/sh\ncd '%s' && echo $$ >>'%s.pids' && exec env -i HOME='%s' PATH='%s:'\"$PATH\" WHERE=there %s\n",
		b.dir, b.command, b.home, bin, words))
	return b
}

// put writes a file, by its name in the box's directory or an absolute one.
func (b *box) put(h *home, name, text string) {
	h.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.dir, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := peer.WriteProgram(name, []byte(text)); err != nil {
		h.Fatal(err)
	}
}

// text returns the content of a file in the box, or "".
func (b *box) text(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// systemIn returns the system prompt of a request.
func systemIn(server *fakellm.Server, n int) string {
	text, _, _ := strings.Cut(string(server.Requests()[n].Body), `"tools":`)
	return text
}

// messagesIn returns the conversation in a request.
func messagesIn(server *fakellm.Server, n int) string {
	_, text, _ := strings.Cut(string(server.Requests()[n].Body), `"messages":`)
	return text
}

// In the mode accept-edits nobody changes on another machine, without a question, what git and PATH
// run there.
func TestU17_WhatGitRunsElsewhere(t *testing.T) {
	t.Parallel()
	for name, helper := range map[string]bool{"shell": false, "helper": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := []string{"tools/hooks/pre-commit", "real/pre-push", "build/alias.sh", "team.inc", "conf/shared"}
			var edits []fakellm.Call
			for _, name := range append(asked, "build/main.go") {
				edits = append(edits, use("write_file", map[string]any{"file_path": name, "content": "x"}))
			}
			url, server := serve(t, nil, say("", edits...), fakellm.Turn{Text: "done"})
			h := newHome(t, url)
			b := h.newBox(false, helper)
			b.put(h, ".git/HEAD", "ref: refs/heads/main\n")
			b.put(h, ".git/config", "[core]\n\thooksPath = tools/hooks\n[alias]\n\tx = !sh build/alias.sh\n"+
				"[include]\n\tpath = ../team.inc\n")
			b.put(h, filepath.Join(b.home, ".gitconfig"), "[core]\n\thooksPath = linked\n[include]\n\tpath = "+b.dir+
				"/conf/shared\n")
			if err := errors.Join(os.Mkdir(filepath.Join(b.dir, "real"), 0o700),
				os.Symlink("real", filepath.Join(b.dir, "linked"))); err != nil {
				t.Fatal(err)
			}
			h.run(0, "run", "--mode", "accept-edits", "--env-command", b.command, "go")
			for _, name := range asked {
				if b.text(name) != "" {
					t.Errorf("%s was changed without a question: %s", name, messagesIn(server, 1))
				}
			}
			if b.text("build/main.go") != "x" {
				t.Errorf("an ordinary file was not changed: %s", messagesIn(server, 1))
			}
		})
	}
}

// Where a hook of git on another machine may run any file there, an edit of any asks, wherever the
// hook lies.
func TestU17_HooksThatMayRunFilesElsewhere(t *testing.T) {
	t.Parallel()
	for _, helper := range []bool{false, true} {
		for name, hook := range map[string]string{"": "git lfs pre-push \"$@\"\n", ".git/hooks/pre-push": "make lint\n",
			"home": "make lint\n"} {
			url, server := serve(t, nil,
				say("", use("write_file", map[string]any{"file_path": "main.go", "content": "x"})),
				fakellm.Turn{Text: "done"})
			h := newHome(t, url)
			b := h.newBox(false, helper)
			b.put(h, ".git/HEAD", "ref: refs/heads/main\n")
			b.put(h, ".git/config", "")
			b.put(h, ".git/hooks/pre-commit.sample", "make lint\n")
			b.put(h, filepath.Join(b.home, ".gitconfig"), "[core]\n\thooksPath = ~/own hooks\n")
			want := cmp.Or(name, ".git/hooks/pre-push")
			if name == "home" {
				want = filepath.Join(b.home, "own hooks/pre-push")
			}
			b.put(h, want, "#!/bin/sh\n"+hook)
			h.run(0, "run", "--mode", "accept-edits", "--env-command", b.command, "go")
			if asks := b.text("main.go") == ""; asks != (name != "") {
				t.Errorf("%q, with a helper %v: the edit asks %v", name, helper, asks)
			}
			if said := messagesIn(server, 1); name != "" && !strings.Contains(said, want+" may run it") {
				t.Errorf("%q, with a helper %v: %s", name, helper, said)
			}
		}
	}
}

// A session behind a command makes its files there and not here, knows the documents, rules and
// variables of there, and starts nothing that the project there brings. It goes on there without
// the flag.
func TestO1_RunElsewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name          string
		shell, helper bool
	}{{"exec-shell", false, false}, {"ssh-shell", true, false}, {"exec-helper", false, true},
		{"ssh-helper", true, true}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil,
				say("", use("write_file", map[string]any{"file_path": "made", "content": "text"}),
					use("shell", map[string]any{"command": "echo $WHERE; pwd"}),
					use("read_file", map[string]any{"file_path": "secret"})),
				fakellm.Turn{Text: "first"}, say("", use("shell", map[string]any{"command": "cat made"})),
				fakellm.Turn{Text: "second"})
			h := newHome(t, url)
			b := h.newBox(kind.shell, kind.helper)
			mark := filepath.Join(t.TempDir(), "started")
			b.put(h, "AGENTS.md", "The rules of there.")
			b.put(h, "secret", "what nobody may read")
			b.put(h, ".mcp.json", `{"mcpServers":{"theirs":{"command":"touch","args":["`+mark+`"]}}}`)
			b.put(h, ".claude/settings.json",
				`{"permissions":{"deny":["Read(secret)"],"allow":["Bash(rm:*)"]},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch `+mark+`"}]}]}}`)
			b.put(h, ".attractor/config.json", `{"max_rounds": 7}`)
			b.put(h, ".claude/skills/theirskill/SKILL.md", "---\nname: theirskill\ndescription: x\n---\n")
			out := h.run(0, "run", "--yes", "--env-command", b.command, "the task")
			if b.text("made") != "text" || out.stdout != "first\n" {
				t.Errorf("there is %q in the file, the answer is %q", b.text("made"), out.stdout)
			}
			if names := h.names(); names != "" {
				t.Errorf("here there is %s", names)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("something of the project there was started")
			}
			for _, want := range []string{"MCP servers: theirs", "hooks: SessionStart", "rules: Bash(rm:*)",
				"settings: max_rounds", "skills: theirskill", "on another machine"} {
				if !strings.Contains(out.stderr, want) {
					t.Errorf("nobody is told of %s: %s", want, out.stderr)
				}
			}
			if told := strings.Contains(out.stderr, "works through a shell"); told == kind.helper {
				t.Errorf("the fallback is told: %v; %s", told, out.stderr)
			}
			if strings.Contains(out.stderr, "attractor trust") {
				t.Errorf("a person is told to trust what cannot be trusted: %s", out.stderr)
			}
			first := systemIn(server, 0)
			if !strings.Contains(first, "The rules of there.") || !strings.Contains(first, b.dir) {
				t.Errorf("the prompt is %s", first)
			}
			results := messagesIn(server, 1)
			if !strings.Contains(results, `there\n`+b.dir) || strings.Contains(results, "what nobody may read") ||
				!strings.Contains(results, "Read(secret)") {
				t.Errorf("the results are %s", results)
			}
			if list := h.run(0, "sessions", "list").stdout; !strings.Contains(list, b.command+":"+b.dir) {
				t.Errorf("the list is %s", list)
			}
			id := h.sessions()[0].ID
			if shown := h.run(0, "sessions", "show", id).stdout; !strings.Contains(shown, b.command+":"+b.dir) {
				t.Errorf("the session is shown as %s", shown)
			}
			if out := h.run(0, "run", "--yes", "--resume", id, "more"); out.stdout != "second\n" ||
				!strings.Contains(out.stderr, "works behind "+b.command) {
				t.Errorf("resumed: %q, %s", out.stdout, out.stderr)
			}
			if body := messagesIn(server, 3); !strings.Contains(body, `text`) || strings.Contains(body, "goes on") {
				t.Errorf("the resumed request is %s", body)
			}
		})
	}
}

// The newest session of a directory is not one of a directory of that name on another machine. A
// session elsewhere belongs to the directory in which it began, and to its command.
func TestO1_ContinueElsewhere(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, fakellm.Turn{Text: "1"}, fakellm.Turn{Text: "2"}, fakellm.Turn{Text: "3"},
		fakellm.Turn{Text: "4"}, fakellm.Turn{Text: "5"})
	h := newHome(t, url)
	b := h.newBox(false, false)
	there := *h // its directory has the name of that of the box
	there.dir = b.dir
	there.run(0, "run", "--yes", "the task of this machine")
	h.run(0, "run", "--yes", "--env-command", b.command, "the task of the box")
	there.run(0, "run", "--yes", "--continue", "more here")
	h.run(0, "run", "--yes", "--continue", "more in the box")
	there.run(0, "run", "--yes", "--continue", "--env-command", b.command, "--dir", b.dir, "and more")
	for i, want := range map[int]string{2: "the task of this machine", 3: "the task of the box", 4: "more in the box"} {
		if body := messagesIn(server, i); !strings.Contains(body, want) {
			t.Errorf("request %d does not continue %q: %s", i, want, body)
		}
	}
	if out := h.run(exitUsage, "run", "--yes", "--continue", "--env-command", "nowhere",
		"x"); !strings.Contains(out.stderr, "there is no session of nowhere to continue") {
		t.Errorf("another command: %s", out.stderr)
	}
}

// A session that moves to another machine, or back, tells the model.
func TestO1_Moved(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, fakellm.Turn{Text: "1"}, fakellm.Turn{Text: "2"}, fakellm.Turn{Text: "3"},
		say("", use("shell", map[string]any{"command": "echo at-$WHERE. in $PWD"})), fakellm.Turn{Text: "4"},
		fakellm.Turn{Text: "5"})
	h := newHome(t, url)
	b := h.newBox(false, false)
	h.run(0, "run", "--yes", "here")
	id := h.sessions()[0].ID
	h.run(0, "run", "--yes", "--resume", id, "--env-command", b.command, "now there")
	if body := messagesIn(server, 1); !strings.Contains(body,
		"The session goes on on another machine, behind the command "+b.command) ||
		!strings.Contains(body, "Working directory: "+b.dir) {
		t.Errorf("the request there is %s", body)
	}
	if out := h.run(0, "run", "--yes", "--resume", id, "still there"); !strings.Contains(out.stderr, "works behind") {
		t.Errorf("it does not stay there: %s", out.stderr)
	}
	h.run(0, "run", "--yes", "--resume", id, "--env-command", "", "back")
	if body := messagesIn(server, 3); !strings.Contains(body, "The session goes on on the user's own machine") ||
		strings.Count(body, "goes on on another machine") != 1 {
		t.Errorf("the request here is %s", body)
	}
	if body := messagesIn(server, 4); !strings.Contains(body, "at-. in "+h.dir) {
		t.Errorf("the command ran elsewhere: %s", body)
	}
	if out := h.run(0, "run", "--yes", "--fork", id+"@2", "--env-command", b.command, "--dir", b.dir,
		"a fork"); !strings.Contains(out.stderr, "the files of turn 2 are not written") {
		t.Errorf("a fork elsewhere does not say that it gets no files: %s", out.stderr)
	}
}

// What cannot work together, or cannot be reached, is an error that says so.
func TestO1_WrongElsewhere(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	b := h.newBox(false, false)
	for _, tt := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"--env-command", b.command, "--sandbox", "workspace"}, "--sandbox off"},
		{exitUsage, []string{"--env-command", "docker 'exec"}, "left open"},
		{exitUsage, []string{"--env-command", b.command, "--add-dir", "below"}, "not an absolute path"},
		{exitFailed, []string{"--env-command", "false"}, "the environment behind false cannot be used"},
		{exitFailed, []string{"--env-command", "/no/such/command"}, "no such file"},
		{exitFailed, []string{"--env-command", b.command, "--dir", "/no/such/directory"}, "/no/such/directory"},
	} {
		if out := h.run(tt.code, append(append([]string{"run", "--yes"}, tt.args...),
			"x")...); !strings.Contains(out.stderr, tt.want) {
			t.Errorf("%v: %s, want %q", tt.args, out.stderr, tt.want)
		}
	}
}

// The words of a command are those that a shell makes of it.
func TestO1_Words(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                               {},
		" docker  exec\t-i box\n":        {"docker", "exec", "-i", "box"},
		`ssh -o 'A B' "c \"d\" \e" f\ g`: {"ssh", "-o", "A B", `c "d" \e`, "f g"},
		`'' a''b 'c\d'`:                  {"", "ab", `c\d`},
	} {
		if got, err := splitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`a "b`, `'`, `a\`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// killAfter waits until something is written into a FIFO, and kills what the command has last
// started.
func (b *box) killAfter(fifo string) error {
	if _, err := os.ReadFile(filepath.Join(b.dir, fifo)); err != nil {
		return err
	}
	started, err := os.ReadFile(b.command + ".pids")
	if err != nil {
		return err
	}
	lines := strings.Fields(string(started))
	pid, err := strconv.Atoi(lines[len(lines)-1])
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// When the connection breaks in the middle of a command, the model is told that nobody knows how
// far it had come. Nothing is run twice, what ran in the background is gone, and the next call
// connects again.
func TestO1_LostInRun(t *testing.T) {
	t.Parallel()
	const endless = "while :; do sleep 1; done"
	h := newHome(t, "")
	b := h.newBox(false, true)
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": endless, "run_in_background": true})),
		say("", use("shell", map[string]any{"command": "echo begun >>log; echo now >began; " + endless})),
		say("", use("process", map[string]any{"id": "2"}), use("shell", map[string]any{"command": "cat log"})),
		fakellm.Turn{Text: "It goes on."})
	h.url = url
	if err := syscall.Mkfifo(filepath.Join(b.dir, "began"), 0o600); err != nil {
		t.Fatal(err)
	}
	killed := make(chan error, 1)
	go func() { killed <- b.killAfter("began") }()
	out := h.run(0, "run", "--yes", "--env-command", b.command, "the task")
	if err := <-killed; err != nil {
		t.Error(err)
	}
	if out.stdout != "It goes on.\n" || b.text("log") != "begun\n" {
		t.Errorf("the answer is %q, the log %q; %s", out.stdout, b.text("log"), out.stderr)
	}
	if lost := messagesIn(server, 2); !strings.Contains(lost, "the connection to the environment was lost") ||
		!strings.Contains(lost, "How far the command had come is unknown") || strings.Count(lost, "unknown") != 1 {
		t.Errorf("the call whose connection broke has the result %s", lost)
	}
	if after := messagesIn(server, 3); !strings.Contains(after, "Process 2 is gone") ||
		!strings.Contains(after, `"begun\n"`) {
		t.Errorf("the calls after it have the results %s", after)
	}
}

// Below the root of a repository, the documents and the state of the whole repository there count.
// A further directory there can be written, ~ in a rule is the home directory there, and another
// one of the user's files does not protect it.
func TestO1_RepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for _, helper := range []bool{true, false} {
		t.Run(fmt.Sprintf("helper=%v", helper), func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil, say("", use("read_file", map[string]any{"file_path": "../above"}),
				use("shell", map[string]any{"command": "cat ~/private"})), fakellm.Turn{Text: "Done."})
			h := newHome(t, url)
			b := h.newBox(false, helper)
			further := t.TempDir()
			b.put(h, ".git/HEAD", "ref: refs/heads/main\n")
			b.put(h, ".git/objects/x", "")
			b.put(h, ".git/refs/heads/x", "")
			b.put(h, "AGENTS.md", "The rules of the root.")
			b.put(h, "below/AGENTS.md", "The rules of below.")
			b.put(h, "above", "what is above")
			b.put(h, filepath.Join(b.home, "private"), "private things")
			h.run(0, "run", "--yes", "--deny-tool", "Read(~/private)", "--env-command", b.command, "--dir", "below",
				"--add-dir", further, "the task")
			first := systemIn(server, 0) + messagesIn(server, 0) // without a helper, a note names the further directory
			for _, want := range []string{"The rules of the root.", "The rules of below.", "Is git repository: yes",
				filepath.Join(b.dir, "below"), further} {
				if !strings.Contains(first, want) {
					t.Errorf("the prompt has no %q: %s", want, first[strings.Index(first, "<environment>"):])
				}
			}
			if results := messagesIn(server, 1); strings.Contains(results, "private things") ||
				!strings.Contains(results, "Read(~/private)") {
				t.Errorf("the results are %s", results)
			}
		})
	}
}

// An editor's sessions work where the command leads, in the directory of there, and the editor
// lists and loads them by its own directory.
func TestO1_EditorElsewhere(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "made", "content": "text"})),
		fakellm.Turn{Text: "first"},
		say("", use("shell", map[string]any{"command": "cp made again"})), fakellm.Turn{Text: "second"})
	h := newHome(t, url)
	b := h.newBox(false, true)
	if err := os.Mkdir(filepath.Join(b.dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := h.newEditor("--yes", "--env-command", b.command, "--dir", "below")
	e.initialize(object{"fs": object{"readTextFile": true, "writeTextFile": true}})
	session := e.open(h.dir)
	if stop := e.prompt(session, "make it"); stop != "end_turn" || b.text("below/made") != "text" {
		t.Errorf("the prompt ended by %s, there is %q", stop, b.text("below/made"))
	}
	e.end()
	e = h.newEditor("--yes")
	e.initialize()
	if list := fmt.Sprint(e.call("session/list", object{"cwd": h.dir})); !strings.Contains(list, session) {
		t.Errorf("the list of the editor's directory is %s", list)
	}
	e.call("session/load", h.resume(session))
	if stop := e.prompt(session, "go on"); stop != "end_turn" || b.text("below/again") != "text" {
		t.Errorf("the loaded session ended by %s, there is %q", stop, b.text("below/again"))
	}
	e.end()
	if names := h.names(); names != "" {
		t.Errorf("here there is %s", names)
	}
}

// When sessions change a file elsewhere at the same time, no change is lost.
func TestO1_NoChangeIsLostElsewhere(t *testing.T) {
	t.Parallel()
	const sessions, edits = 3, 8
	homes := make([]*home, sessions)
	for i := range homes {
		var turns []fakellm.Turn
		for n := range edits {
			turns = append(turns, say("", use("edit_file", map[string]any{"file_path": "list", "old_string": "end",
				"new_string": fmt.Sprintf("%d.%d\nend", i, n)})))
		}
		url, _ := serve(t, nil, append(turns, fakellm.Turn{Text: "done"})...)
		homes[i] = newHome(t, url)
	}
	b := homes[0].newBox(false, true)
	b.put(homes[0], "list", "end\n")
	var all sync.WaitGroup
	for _, h := range homes {
		all.Go(func() { h.run(0, "run", "--yes", "--env-command", b.command, "the task") })
	}
	all.Wait()
	lines := strings.Split(b.text("list"), "\n")
	for i := range sessions {
		for n := range edits {
			if !slices.Contains(lines, fmt.Sprintf("%d.%d", i, n)) {
				t.Errorf("the change %d of session %d is lost: %q", n, i, lines)
			}
		}
	}
}

// What a session has changed elsewhere is shown and taken back by the way on which the session got
// there, and what that is, is said once.
func TestO4_UndoElsewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name          string
		shell, helper bool
	}{{"exec-shell", false, false}, {"exec-helper", false, true}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("",
				use("shell", map[string]any{"command": "rm -r src; echo two >a.txt; mkdir new; echo new >new/file; " +
					"chmod 755 run.sh"})), fakellm.Turn{Text: "done"})
			h := newHome(t, url)
			b := h.newBox(kind.shell, kind.helper)
			b.put(h, "a.txt", "one\n")
			b.put(h, "src/deep/b\n.txt", "b\n")
			b.put(h, "run.sh", "exit\n")
			before := treeOf(t, b.dir)
			h.run(0, "run", "--yes", "--env-command", b.command, "make a mess")
			after := treeOf(t, b.dir)
			id := h.sessions()[0].ID
			if diff := h.run(0, "sessions", "diff", id).stdout; !strings.Contains(diff, "-one\n+two\n") {
				t.Errorf("the diff is %s", diff)
			}
			out := h.run(0, "undo", id, "--yes")
			if now := treeOf(t, b.dir); now != before || before == after {
				t.Errorf("after undo:\n%s\nwant\n%s\n%s", now, before, out.stdout)
			}
			if told := strings.Count(out.stderr, "works through a shell"); (told == 0) != kind.helper || told > 1 {
				t.Errorf("it says %s", out.stderr)
			}
			h.run(0, "undo", id, "--redo", "--yes")
			if now := treeOf(t, b.dir); now != after {
				t.Errorf("after redo:\n%s\nwant\n%s", now, after)
			}
		})
	}
}
