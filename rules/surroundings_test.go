package rules_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// TestL2_SurroundingsOfCommands checks that the variables of commands and the directories that
// tools may write are known to the judgement
// of scripts.
func TestL2_SurroundingsOfCommands(t *testing.T) {
	p := newProject(t, "a")
	added, link := filepath.Join(p.home, "added"), filepath.Join(p.home, "link")
	if err := os.MkdirAll(added, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(added, "rg"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(added, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		vars   []string
		roots  []string
		script string
		want   tool.Verdict
	}{
		{[]string{"PATH=/usr/bin:/bin"}, []string{p.dir}, "cat a", tool.Allow},
		{[]string{"PATH=" + added + ":/usr/bin"}, []string{p.dir, added}, "rg x", tool.Ask},
		{[]string{"PATH=" + added + ":/usr/bin"}, []string{p.dir, link}, "rg x", tool.Ask},
		{[]string{"PATH=" + link + ":/usr/bin"}, []string{p.dir, added}, "rg x", tool.Ask},
		{[]string{"PATH=" + link + ":/usr/bin"}, []string{p.dir}, "rg x", tool.Allow},
		{[]string{"LANG=en_US.UTF-8"}, []string{p.dir}, "echo 'é'", tool.Allow},
		{[]string{"LANG=zh_CN.GBK"}, []string{p.dir}, "echo 'é'", tool.Ask},
	} {
		dirs := p.dirs()
		dirs.Vars, dirs.Roots = c.vars, c.roots
		s, err := rules.Load(dirs)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.command(s, c.script); d.Verdict != c.want {
			t.Errorf("%s with %q and %q is %s: %s", c.script, c.vars, c.roots, d.Verdict, d.Reason)
		}
	}
}

// What PATH finds in the repository around the working directory, or in the directory from which a
// work tree was made, is no program of the system.
func TestL2_ProgramsOfTheRepository(t *testing.T) {
	p := newProject(t, "a")
	bin := filepath.Join(p.home, "repository/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "cat"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	around := filepath.Dir(bin)
	for name, change := range map[string]func(dirs *rules.Dirs){
		"around":  func(dirs *rules.Dirs) { dirs.Repository = []string{around} },
		"made of": func(dirs *rules.Dirs) { dirs.Copies = []rules.Copy{{Of: around, At: p.dir}} },
	} {
		dirs := p.dirs()
		dirs.Vars = []string{"PATH=" + bin + ":/usr/bin:/bin"}
		dirs.Outside = func(_ context.Context, name string) ([]byte, error) { return os.ReadFile(name) }
		change(&dirs)
		s, err := rules.Load(dirs)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.command(s, "cat a"); d.Verdict != tool.Ask {
			t.Errorf("%s: it is %s", name, d.Verdict)
		}
		if d := p.command(s, "ls a"); d.Verdict != tool.Allow {
			t.Errorf("%s: a program that is not there: %s, %s", name, d.Verdict, d.Reason)
		}
	}
}

// TestL2_ModelSuppliedLocale checks that a model cannot choose a locale of other characters for a
// command.
func TestL2_ModelSuppliedLocale(t *testing.T) {
	p := newProject(t)
	s := p.load(`{"allow": ["Bash(ls:*)"]}`)
	for value, want := range map[string]tool.Verdict{"zh_CN.GBK": tool.Ask, "C.UTF-8": tool.Allow} {
		req := tool.Request{Call: llm.ToolCall{Name: "shell"},
			Access: tool.Access{Command: "ls é", Vars: []string{"LC_ALL=" + value}}}
		if d := s.Decide(t.Context(), env.Protect(p.env, env.DefaultProtection()), req); d.Verdict != want {
			t.Errorf("%s is %s: %s", value, d.Verdict, d.Reason)
		}
	}
}
