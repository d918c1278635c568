package attractor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// Repositories that a session has left behind, and that make git run a program, are told once; all
// others are not told.
func TestU16_RepositoriesThatAreLeftBehind(t *testing.T) {
	program := peer.Need(t, "git")
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "before")
	git("-C", "before", "config", "filter.x.clean", "./x")
	git("init", "-q", "fixture") // in which a test keeps a repository by another name
	git("-C", "fixture", "config", "core.fsmonitor", "./x")
	if err := os.Rename(filepath.Join(dir, "fixture/.git"), filepath.Join(dir, "fixture/dotgit")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "fixture/dotgit/HEAD")); err != nil {
		t.Fatal(err)
	}
	var told []string
	l := newLeftBehind([]string{dir}, time.Time{}, func(_, text string) { told = append(told, text) })
	old, err := userfiles.ChangeTime(filepath.Join(dir, "before/.git/config"))
	if err != nil {
		t.Fatal(err)
	}
	l.since = old.Add(time.Nanosecond)
	for now := old; !now.After(l.since); { // until the clock of files goes on
		if err := os.WriteFile(filepath.Join(dir, "clock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if now, err = userfiles.ChangeTime(filepath.Join(dir, "clock")); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "harmless")
	git("-C", "harmless", "config", "user.name", "x")
	git("-C", "before", "status")
	if l.look(); len(told) > 0 {
		t.Errorf("told was %q", told)
	}
	git("init", "-q", "node_modules/deep/filter")
	git("-C", "node_modules/deep/filter", "config", "core.fsmonitor", "./x")
	git("init", "-q", "--bare", "bare.git")
	git("-C", "bare.git", "config", "include.path", "x")
	git("init", "-q", "common")
	put(t, dir, "common/.git/commondir", "../elsewhere\n")
	put(t, dir, "common/elsewhere/config", "[diff]\n\texternal = ./x\n")
	put(t, dir, "fixture/dotgit/HEAD", "ref: refs/heads/main\n")
	if err := os.Rename(filepath.Join(dir, "fixture/dotgit"), filepath.Join(dir, "fixture/.git")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "hidden/.git", "gitdir: ../harmless/.git/objects/ab\n")
	put(t, dir, "harmless/.git/objects/ab/HEAD", "ref: refs/heads/main\n")
	put(t, dir, "harmless/.git/objects/ab/config", "[interactive]\n\tdiffFilter = ./x\n")
	git("init", "-q", "pager")
	git("init", "-q", "pipe")
	git("-C", "pager", "config", "core.pager", "./x")
	if err := errors.Join(os.Remove(filepath.Join(dir, "pipe/.git/config")),
		syscall.Mkfifo(filepath.Join(dir, "pipe/.git/config"), 0o600)); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(dir, "harmless/.git/hooks/post-index-change")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.look()
	}
	want := []string{"bare.git in which git may run a program (it has include.path); look at it by: git --no-pager " +
		"config --file " + dir + "/bare.git/config --list",
		"common in which git may run a program (it has diff.external)",
		"fixture in which git may run a program (it has core.fsmonitor)",
		"harmless in which git may run a program (it has the hook post-index-change)",
		"hidden in which git may run a program (it has interactive.difffilter)",
		"node_modules/deep/filter in which git may run a program (it has core.fsmonitor)",
		"pager in which git may run a program (it has core.pager)",
		"pipe in which git may run a program (config is no ordinary file)"}
	if len(told) != len(want) {
		t.Fatalf("told was %q", told)
	}
	for i, text := range want {
		if !strings.Contains(told[i], text) {
			t.Errorf("told was %q, want %q", told[i], text)
		}
	}
}

// A repository is found wherever git finds it: behind links, by any name that a .git file can have,
// and among those that were there, if a new .git file leads to it. A directory that cannot be read
// may have one.
func TestU16_RepositoriesThatAreHidden(t *testing.T) {
	const evil = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./x\n"
	repository := func(dir, name string) {
		for file, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": evil,
			"objects/x": "", "refs/x": ""} {
			put(t, dir, name+"/"+file, text)
		}
	}
	link := func(to, name string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, leave := range map[string]func(dir string){
		"sub in which": func(dir string) { // behind a link to a .git file
			put(t, dir, "file", "gitdir: ../good/objects/r\n")
			link("../file", filepath.Join(dir, "sub/.git"))
			repository(dir, "good/objects/r")
		},
		"line in which": func(dir string) {
			put(t, dir, "line/.git", "gitdir: ../good/objects/a\nb\n")
			repository(dir, "good/objects/a\nb")
		},
		"two in which": func(dir string) {
			put(t, dir, "two/.git", "gitdir: ../good/objects/a\n\x00")
			repository(dir, "good/objects/a\n")
		},
		"end in which": func(dir string) {
			put(t, dir, "end/.git", "gitdir: ../good/objects/e\x00"+strings.Repeat("x", 100))
			repository(dir, "good/objects/e")
		},
		"up in which": func(dir string) { // .. is that of what the link leads to
			put(t, dir, "up/.git", "gitdir: ../way/../r\n")
			link("good/objects/deep", filepath.Join(dir, "way"))
			put(t, dir, "good/objects/deep/x", "")
			repository(dir, "good/objects/r")
		},
		"known in which": func(dir string) { // which was there
			put(t, dir, "known/.git", "gitdir: ../fixtures/r\n")
		},
		"shared in which": func(dir string) {
			put(t, dir, "shared/.git/HEAD", "ref: refs/heads/main\n")
			put(t, dir, "shared/.git/commondir", "../../fixtures/r\n\n")
		},
	} {
		dir := t.TempDir()
		repository(dir, "fixtures/r")
		repository(dir, "good")
		put(t, dir, "good/config", "")
		var told []string
		l := newLeftBehind([]string{dir}, time.Now().Add(time.Hour), func(_, text string) { told = append(told, text) })
		if l.look(); len(told) > 0 {
			t.Errorf("before, told was %q", told)
		}
		leave(dir)
		for range 2 {
			l.look()
		}
		if len(told) != 1 || !strings.Contains(told[0], name+" git may run a program (it has core.fsmonitor)") {
			t.Errorf("%s: told was %q", name, told)
		}
	}
}

// A directory that a command has made unreadable, and in which git would find a repository, is told
// as well.
func TestU16_DirectoriesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed := func(name string) {
		if err := os.Chmod(filepath.Join(dir, name), 0o311); err != nil {
			t.Fatal(err)
		}
	}
	closed("old")
	var told []string
	runtime.LockOSThread() // for good: the thread ends with this test
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), syscall.Setfsuid(4242)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(syscall.Setfsuid(os.Getuid()), os.Chmod(filepath.Join(dir, "old"), 0o755),
			os.Chmod(filepath.Join(dir, "new"), 0o755)); err != nil {
			t.Error(err)
		}
	})
	l := newLeftBehind([]string{dir}, time.Now(), func(_, text string) { told = append(told, text) })
	if l.look(); len(told) > 0 {
		t.Errorf("before, told was %q", told)
	}
	done := make(chan struct{})
	go func() { closed("new"); close(done) }()
	<-done
	for range 2 {
		l.look()
	}
	if len(told) != 1 || !strings.Contains(told[0], "new, which cannot be read") {
		t.Errorf("told was %q", told)
	}
}

// A session in a sandbox tells of them.
func TestU16_SessionsTell(t *testing.T) {
	peer.Need(t, "bwrap")
	peer.Need(t, "git")
	b := newBench(t, calls(t, "shell", object{"command": "git init -q made && git -C made config core.fsmonitor ./x"}),
		fakellm.Turn{Text: "done"})
	var told []string
	config := b.config()
	config.Mode, config.Sandbox = permit.ModeFull, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir(),
		Cache: t.TempDir()}
	b.submit(config, "make it", func(o *agent.Options) {
		o.OnEvent = func(ev agent.Event) {
			if w, ok := ev.(*agent.Warning); ok && w.Code == "repository" {
				told = append(told, w.Text)
			}
		}
	})
	if len(told) != 1 || !strings.Contains(told[0], "made in which git may run a program (it has core.fsmonitor)") {
		t.Errorf("told was %q", told)
	}
}
