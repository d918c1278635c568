package workspace_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runGit runs git in a directory and returns what it prints.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c",
		"protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// write writes files, given by path and content. A content that begins with -> is a link, and one
// with + a program.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			must(t, os.Symlink(target, name))
			continue
		}
		perm := fs.FileMode(0o644)
		if strings.HasPrefix(content, "+") {
			perm = 0o755
		}
		must(t, os.WriteFile(name, []byte(content), perm))
		must(t, os.Chmod(name, perm))
	}
}

// newRepository makes a repository with a few commits.
func newRepository(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	must(t, os.Mkdir(dir, 0o755))
	runGit(t, dir, "init", "-q", "-b", "main")
	write(t, dir, map[string]string{"README.md": "# one\n", "src/main.go": "package main\n", "run.sh": "+#!/bin/sh\n",
		"link":       "->src/main.go",
		".gitignore": "build/\n*.log\n", "kept.log": "tracked although ignored\n", "vendor/a/a.txt": "a\n",
		"empty": ""})
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "add", "-f", "kept.log")
	runGit(t, dir, "commit", "-q", "-m", "one")
	write(t, dir, map[string]string{"two.txt": "2\n"})
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "two")
	runGit(t, dir, "tag", "-a", "-m", "a tag", "v1")
	return dir
}

// space returns the space of a tenant of an engine in memory.
func space(t testing.TB) *fleet.Space {
	t.Helper()
	e := memfleet.New(memfleet.Options{})
	t.Cleanup(func() { must(t, e.Close()) })
	s, err := e.Open(t.Context(), fleet.DefaultTenant)
	must(t, err)
	return s
}

// newWorkspaces returns workspaces that may clone from this machine.
func newWorkspaces(t testing.TB, change ...func(*workspace.Options)) fleet.Workspaces {
	t.Helper()
	o := workspace.Options{Dir: t.TempDir(), AllowDir: true}
	for _, c := range change {
		c(&o)
	}
	w, err := workspace.New(o)
	must(t, err)
	return w
}

// open opens a workspace until the end of the test.
func open(t testing.TB, w fleet.Workspaces, task fleet.Task, o fleet.Objects,
	last *fleet.WorkspacePoint) fleet.Workspace {
	t.Helper()
	ws, err := w.Open(t.Context(), task, o, last)
	must(t, err)
	t.Cleanup(func() { must(t, ws.Close()) })
	return ws
}

func point(t testing.TB, ws fleet.Workspace) *fleet.WorkspacePoint {
	t.Helper()
	p, err := ws.Point(t.Context())
	must(t, err)
	return p
}

// dirOf returns the directory of a workspace on this machine.
func dirOf(ws fleet.Workspace) string {
	dir, _ := ws.(interface{ Place() (string, []string) }).Place()
	return dir
}

// do runs a script in a workspace, as its task does.
func do(t testing.TB, ws fleet.Workspace, script string) string {
	t.Helper()
	var out bytes.Buffer
	r, err := env.Run(context.WithoutCancel(t.Context()), ws.Env(),
		env.Command{Script: script, Output: func(_ int, p []byte) { out.Write(p) }}, 0)
	must(t, err)
	if r.Code != 0 {
		t.Fatalf("%s: %+v\n%s", script, r.Exit, out.String())
	}
	return out.String()
}

// listing describes a directory: each path with mode, size and content. What .git has is left out.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(dir, name)
		must(t, err)
		info, err := d.Info()
		must(t, err)
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			must(t, err)
			content = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(name)
			must(t, err)
			fmt.Fprintf(&out, "link %q %q\n", rel, content)
			return nil
		}
		fmt.Fprintf(&out, "%v %q %q\n", info.Mode(), rel, content)
		return nil
	}))
	return out.String()
}

// gitState describes a repository: what is checked out, its branches, tags and stash, and all
// commits.
func gitState(t testing.TB, dir string) string {
	t.Helper()
	head := runGit(t, dir, "rev-parse", "--symbolic-full-name", "HEAD") + " " + runGit(t, dir, "rev-parse", "HEAD")
	return head + "\n" + runGit(t, dir, "for-each-ref", "refs/heads", "refs/tags", "refs/stash") + "\n" +
		runGit(t, dir, "log", "--branches", "--tags", "--format=%H %s") + "\n" + runGit(t, dir, "fsck", "--no-dangling",
		"--strict") + "\n" +
		runGit(t, dir, "status", "--porcelain")
}
