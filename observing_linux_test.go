package attractor

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// A command that reads by its text, but changes something, is stopped by the kernel. It asks then,
// and without a person it is refused.
func TestU14_WhatRunsWithoutAQuestionChangesNothing(t *testing.T) {
	needObserve(t)
	bin, home := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	key := filepath.Join(home, ".ssh/id_ed25519")
	if err := errors.Join(os.Mkdir(filepath.Dir(key), 0o700), os.WriteFile(key, []byte("the key"), 0o600)); err != nil {
		t.Fatal(err)
	}
	allows := func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Verdict: tool.Allow}, nil
	}
	denies := func(context.Context, permit.Question) (permit.Answer, error) { return permit.Answer{Reason: "no"}, nil }
	const changes, reads = "touch canary", "cat KEY"
	for name, c := range map[string]struct {
		mode   permit.Mode
		ask    permit.Asker
		script string // what ls does
		asked  int
		done   bool
		told   string // to the model
	}{
		"a person says yes": {permit.ModeAsk, allows, changes, 1, true,
			"allowed this command, once, to run outside the sandbox"},
		"a person says no": {permit.ModeAsk, denies, changes, 1, false,
			"Commands that run without a question cannot change DIR/canary."},
		"in accept-edits": {permit.ModeAcceptEdits, denies, changes, 1, false, "cannot change DIR/canary."},
		"in plan": {permit.ModePlan, allows, changes, 0, false,
			"cannot change DIR/canary. This is no fault of the machine, and there is no way around it"},
		"nobody is there": {permit.ModeAsk, nil, changes, 0, false,
			"cannot change DIR/canary. This is no fault of the machine, and there is no way around it: work without " +
				"it, or say what you need. Say --yes."},
		"in full": {permit.ModeFull, nil, changes, 0, true, "exit"},
		"a key, and no": {permit.ModeAsk, denies, reads, 1, false,
			"Commands that run without a question cannot read KEY."},
		"the network, and no": {permit.ModeAsk, denies, "curl -sS http://example.invalid/", 1, false,
			"Commands that run without a question have no network."},
		"what it may do is told": {permit.ModeAsk, denies, "chmod 777 notes", 1, false, "cannot change DIR/notes."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, calls(t, "shell", object{"command": "ls"}), fakellm.Turn{Text: "done"})
			b.write("notes", "x")
			names := strings.NewReplacer("DIR", b.dir, "KEY", key)
			if err := peer.WriteProgram(filepath.Join(bin, "ls"),
				[]byte("#!/bin/sh\n"+names.Replace(c.script)+" && echo exit\n")); err != nil {
				t.Fatal(err)
			}
			asked, config := 0, b.config()
			config.Mode, config.Getenv = c.mode, variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url,
				"HOME", home)
			if c.ask != nil {
				config.Ask = func(ctx context.Context, q permit.Question) (permit.Answer, error) {
					if asked++; len(q.Refused) != 1 {
						t.Errorf("the question says that %q was refused", q.Refused)
					}
					return c.ask(ctx, q)
				}
			}
			setup, session := b.begin(config)
			setup.Gate.HowToAllow = "Say --yes"
			if _, err := session.Submit(t.Context(), "look"); err != nil {
				t.Error(err)
			}
			if err := errors.Join(session.Close(), setup.Close()); err != nil {
				t.Error(err)
			}
			if text := b.lastResults(); !strings.Contains(text, names.Replace(c.told)) || c.script == reads &&
				strings.Contains(text, "the key") {
				t.Errorf("the model reads\n%s", text)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "canary")); (err == nil) != c.done {
				t.Errorf("the command has made its file: %v", err == nil)
			}
			if asked != c.asked {
				t.Errorf("%d questions, want %d", asked, c.asked)
			}
		})
	}
}

func needObserve(t *testing.T) {
	t.Helper()
	box, err := sandbox.New(t.TempDir(), sandbox.Options{Level: sandbox.Observe})
	if err != nil {
		peer.Missing(t, "%v", err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

// Where the level cannot be had, such commands run as the table has judged them, and that is told
// once.
func TestU14_WithoutTheLevel(t *testing.T) {
	var warnings []string
	o := &observing{open: func() (*sandbox.Sandbox, error) { return nil, errors.New("no Landlock") },
		warn: func(code, text string) { warnings = append(warnings, code+": "+text) }}
	for range 2 {
		l, err := o.launch(env.Observing(t.Context(), true), env.Launch{Args: []string{"ls"}})
		if err != nil || l.Thread != nil || len(l.Env) > 0 {
			t.Errorf("it is launched as %+v, %v", l, err)
		}
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "observe: ") || !strings.HasSuffix(warnings[0],
		"(no Landlock)") {
		t.Errorf("warned %q", warnings)
	}
	if err := o.close(); err != nil {
		t.Error(err)
	}
}

// Where the user says so, any command runs without a question where it can change nothing.
func TestU21_Unasked(t *testing.T) {
	needObserve(t)
	for name, c := range map[string]struct {
		mode  permit.Mode
		deny  string // a rule
		runs  string // what the shell is told to do
		asked []string
		told  string // to the model
	}{
		"a command that the table does not know": {permit.ModeAsk, "", "sh ./counts", nil, "1"},
		"without a question about edits":         {permit.ModeAcceptEdits, "", "sh ./counts", nil, "1"},
		"one that writes asks": {permit.ModeAsk, "", "sh -c 'echo x >made'",
			[]string{"cannot change DIR/made."}, "cannot change DIR/made."},
		"one that reads a secret asks": {permit.ModeAsk, "", "sh ./reads", []string{"cannot read DIR/.env."},
			"cannot read DIR/.env."},
		"one that names a secret asks before": {permit.ModeAsk, "", "sh -c 'cat .env'", []string{""}, "no"},
		"one that a rule denies is denied": {permit.ModeAsk, "Bash(sh:*)", "sh ./counts", nil,
			"a rule denies it"},
		"in plan it does not run": {permit.ModePlan, "", "sh ./counts", nil, "the session is in plan mode"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, calls(t, "shell", object{"command": c.runs}), fakellm.Turn{Text: "done"})
			b.write("notes", "x\n", ".env", "SECRET=hidden-from-commands\n", "reads", "cat .e*v\n", "counts",
				"wc -l <notes\n")
			var asked []string
			config := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
				asked = append(asked, strings.Join(q.Refused, " "))
				return permit.Answer{Reason: "no"}, nil
			})
			config.Mode, config.Unasked = c.mode, sandbox.Observe
			if c.deny != "" {
				config.Deny = []string{c.deny}
			}
			b.submit(config, "look")
			inDir := strings.NewReplacer("DIR", b.dir)
			if text := b.lastResults(); !strings.Contains(text, inDir.Replace(c.told)) ||
				strings.Contains(text, "hidden-from-commands") {
				t.Errorf("the model reads\n%s", text)
			}
			if len(asked) != len(c.asked) || len(asked) == 1 && !strings.Contains(asked[0], inDir.Replace(c.asked[0])) {
				t.Errorf("asked about %q, want %q", asked, c.asked)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "made")); err == nil {
				t.Error("the file is made")
			}
		})
	}
}

func TestU21_Contradictions(t *testing.T) {
	for want, c := range map[string]Config{
		`it can be "off" or "observe"`: {Unasked: sandbox.Workspace},
		"choose one of the two": {Unasked: sandbox.Observe,
			Sandbox: sandbox.Options{Level: sandbox.ReadOnly}},
		"the session works on another one": {Unasked: sandbox.Observe, EnvCommand: []string{"ssh", "host"}},
	} {
		if _, err := Open(t.Context(), c); err == nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A program that runs elsewhere is not reached by its input without a question.
func TestU21_InputAsks(t *testing.T) {
	needObserve(t)
	b := newBench(t, calls(t, "shell", object{"command": "sh -s", "run_in_background": true}),
		calls(t, "process", object{"id": "1", "action": "write", "input": "touch made\n", "wait_ms": 100}),
		fakellm.Turn{Text: "done"})
	asked := 0
	config := b.asking(func(context.Context, permit.Question) (permit.Answer, error) {
		asked++
		return permit.Answer{Reason: "no"}, nil
	})
	config.Unasked, config.Allow = sandbox.Observe, []string{"Bash(sh -s)"}
	b.submit(config, "look")
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err == nil || asked != 1 {
		t.Errorf("made: %v, %d questions", err == nil, asked)
	}
}

// The commands of a subagent run where their own calls say, and not where the one that began the
// subagent does.
func TestU14_CommandsOfSubagents(t *testing.T) {
	needObserve(t)
	native := true
	b := newBench(t)
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Parts.Text() == "CHILDTASK" }) {
			return []fakellm.Turn{calls(t, "Bash", object{"command": "touch made", "description": "x"}),
				{Text: "REPORT"}}[min(r.Turn(), 1)]
		}
		return []fakellm.Turn{calls(t, "Agent", object{"description": "d", "prompt": "CHILDTASK"}),
			{Text: "done"}}[min(r.Turn(), 1)]
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	config := b.asking(yes)
	config.Getenv, config.chosen.native = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", web.URL), &native
	b.submit(config, "PARENT look")
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err != nil {
		t.Error("the command that a person allowed has changed nothing")
	}
}

// A repository whose configuration names a program does not make git commands ask, and the program
// can do nothing.
func TestU15_UnclearCommandsAreObserved(t *testing.T) {
	needObserve(t)
	b := newBench(t, calls(t, "shell", object{"command": "git status --short"}), fakellm.Turn{Text: "done"})
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.fsmonitor", "touch canary; false"}} {
		cmd := exec.Command(peer.Need(t, "git"), args...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	b.write("notes", "x")
	asked := 0
	b.submit(b.asking(func(context.Context, permit.Question) (permit.Answer, error) {
		asked++
		return permit.Answer{Reason: "no"}, nil
	}), "look")
	if text := b.lastResults(); !strings.Contains(text, "?? notes") || strings.Contains(text, "?? canary") ||
		asked != 0 {
		t.Errorf("%d questions; the model reads\n%s", asked, text)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "canary")); err == nil {
		t.Error("the program of the repository has made a file")
	}
}

// A search of a directory in which a rule denies a file finds what is in the others, without a
// question.
func TestU8_TreesWithDeniedFiles(t *testing.T) {
	needObserve(t)
	for rule, asked := range map[string]int{"Read(./private/**)": 0, "Read(**/*.private)": 0, "Edit(./notes)": 0} {
		t.Run(rule, func(t *testing.T) {
			b := newBench(t, calls(t, "shell", object{"command": "grep -rn needle ."}), fakellm.Turn{Text: "done"})
			b.write("notes", "needle in notes\n", "private/key", "needle in private\n", "private/key.private",
				"needle in private\n")
			n := 0
			config := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
				n++
				return permit.Answer{Reason: "no"}, nil
			})
			config.Deny = []string{rule}
			b.submit(config, "look")
			text := b.lastResults()
			if !strings.Contains(text, "needle in notes") || n != asked {
				t.Errorf("%d questions; the model reads\n%s", n, text)
			}
			if denied := strings.HasPrefix(rule, "Read"); denied == strings.Contains(text, "key.private:1:needle") {
				t.Errorf("the model reads\n%s", text)
			}
		})
	}
}

// Files that usually hold secrets are covered whatever the table takes a command for.
func TestU14_SecretsOfTheProjectAreCovered(t *testing.T) {
	needObserve(t)
	for script, config := range map[string]string{
		"git diff sub .":       "", // without a repository it compares directories
		"git -C sub diff . ..": "",
		"git status":           "[core]\n\tfsmonitor = cat .env >&2; false\n",
		"git diff":             "[core]\n\tfsmonitor = cat .env >&2; false\n",
	} {
		t.Run(script, func(t *testing.T) {
			b := newBench(t, calls(t, "shell", object{"command": script}), fakellm.Turn{Text: "done"})
			b.write("sub/x", "x\n", ".env", "KEY=hidden-from-commands\n")
			if config != "" {
				cmd := exec.Command(peer.Need(t, "git"), "init", "-q")
				cmd.Dir = b.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				b.write(".git/config", config)
			}
			b.submit(b.asking(func(context.Context, permit.Question) (permit.Answer,
				error) {
				return permit.Answer{Reason: "no"}, nil
			}), "look")
			if text := b.lastResults(); strings.Contains(text, "hidden-from-commands") {
				t.Errorf("the model reads\n%s", text)
			}
		})
	}
}

// A checkpoint has copies of files that a command cannot read of which nobody was asked, and the
// command cannot read these either.
func TestU14_CheckpointsAreCovered(t *testing.T) {
	needObserve(t)
	b := newBench(t, calls(t, "shell", object{"command": "sh ./reads"}), fakellm.Turn{Text: "done"})
	config, home := b.asking(func(context.Context, permit.Question) (permit.Answer, error) {
		return permit.Answer{Reason: "no"}, nil
	}), t.TempDir()
	config.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url, "HOME", home)
	config.Mode, config.Unasked, config.Checkpoints = permit.ModeAcceptEdits, sandbox.Observe, t.TempDir()
	journals := filepath.Join(home, ".local/state/attractor/sessions")
	if err := errors.Join(os.MkdirAll(journals, 0o700), os.WriteFile(filepath.Join(journals, "x"),
		[]byte("of-another-session"), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.write(".env", "SECRET=hidden-from-commands\n", "reads",
		"cat "+config.Checkpoints+"/*/* "+config.Checkpoints+"/*/*/* "+journals+"/*; echo ends\n")
	b.submit(config, "look")
	text := b.lastResults()
	if !strings.Contains(text, "ends") || strings.Contains(text, "hidden-from-commands") ||
		strings.Contains(text, "of-another-session") {
		t.Errorf("the model reads\n%s", text)
	}
	copied := false
	err := filepath.WalkDir(config.Checkpoints, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			copied = copied || bytes.Contains(data, []byte("hidden-from-commands"))
			return err
		}
		return err
	})
	if err != nil || !copied {
		t.Errorf("the checkpoint has no copy, so the test shows nothing: %v", err)
	}
}

// In accept-edits the file tools make no repository without a work tree, of which the user's next
// git command would take the configuration.
func TestU17_NoRepositoryOfFiles(t *testing.T) {
	b := newBench(t, calls(t, "write_file", object{"file_path": "sub/HEAD", "content": "ref: refs/heads/main\n"}),
		fakellm.Turn{Text: "done"})
	asked := 0
	config := b.asking(func(context.Context, permit.Question) (permit.Answer, error) {
		asked++
		return permit.Answer{Reason: "no"}, nil
	})
	config.Mode = permit.ModeAcceptEdits
	b.submit(config, "write")
	if _, err := os.Stat(filepath.Join(b.dir, "sub/HEAD")); err == nil || asked != 1 {
		t.Errorf("made: %v, %d questions", err == nil, asked)
	}
}

// A file system that hangs keeps no command waiting for the level: it is given up with a warning.
func TestU14_ALevelThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var warnings []string
		o := &observing{open: func() (*sandbox.Sandbox, error) { <-hang; return nil, nil },
			warn: func(_, text string) { warnings = append(warnings, text) }}
		for range 2 {
			if o.sandbox() != nil {
				t.Error("there is a sandbox")
			}
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "a file system may hang") {
			t.Errorf("%q", warnings)
		}
		close(hang)
	})
}
