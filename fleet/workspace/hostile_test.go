package workspace_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/peer"
)

// traps returns a repository that would run programs, or write outside, if somebody let it. What
// runs makes the file canary.
func traps(t testing.TB) (dir, canary string) {
	t.Helper()
	dir, canary = newRepository(t), filepath.Join(t.TempDir(), "canary")
	write(t, dir, map[string]string{
		".gitattributes": "* filter=evil diff=evil merge=evil\n*.lfs filter=lfs\n",
		"big.lfs":        "version https://git-lfs.github.com/spec/v1\n",
		".gitmodules": "[submodule \"m\"]\n\tpath = m\n\turl = ext::sh -c touch% " + canary + "\n\tupdate = !touch " +
			canary + "\n",
		"hooks": "->.git/hooks", "out": "->" + filepath.Dir(canary), "up": "->../../../../../..",
	})
	runGit(t, dir, "add", "-A")
	head := runGit(t, dir, "rev-parse", "HEAD")
	runGit(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+head+",m")
	runGit(t, dir, "commit", "-q", "-m", "traps")
	return dir, canary
}

// trapsInside makes a task's repository hostile to whoever runs git in it.
const trapsInside = `git config filter.evil.clean "touch CANARY; cat"; git config filter.evil.smudge "touch CANARY; cat"
git config diff.external "touch CANARY"; git config diff.evil.textconv "touch CANARY;cat"; git config diff.evil.command "touch CANARY"
git config core.fsmonitor "touch CANARY"; git config core.hooksPath .git/hooks; git config core.sshCommand "touch CANARY"
git config alias.pack-objects "!touch CANARY"; git config uploadpack.packObjectsHook "touch CANARY"; git config core.pager "touch CANARY"
for h in post-checkout pre-commit reference-transaction post-index-change; do printf '#!/bin/sh\ntouch CANARY\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done`

// Nothing that a repository brings is run or followed outside of the workspace: when it is cloned,
// recorded, compared or made again.
func TestP9_HostileRepositories(t *testing.T) {
	t.Parallel()
	dir, canary := traps(t)
	s := serveGit(t, map[string]string{"a.git": dir})
	w, _ := cloning(t, s)
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git"}}
	calm := func(when string) {
		t.Helper()
		if left, err := os.ReadDir(filepath.Dir(canary)); err != nil || len(left) > 0 {
			t.Fatalf("%s: %v %v", when, left, err)
		}
	}
	ws := open(t, w, task, o, nil)
	calm("cloned")
	point(t, ws)
	calm("recorded")
	must(t, os.MkdirAll(filepath.Join(dirOf(ws), ".git", "hooks"), 0o755))
	do(t, ws, `git config user.name A; git config user.email a@example.com; echo x > x; git add x; git commit -qm x; rm -f out; mkdir out; echo y > out/y`)
	do(t, ws, strings.ReplaceAll(trapsInside, "CANARY", canary))
	last := point(t, ws)
	calm("recorded again")
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	calm("compared")
	if strings.Contains(patch.String(), "a/m") || strings.Contains(patch.String(), "lfs") {
		t.Errorf("the patch has what the task left alone: %s", patch.String())
	}
	if !strings.Contains(patch.String(), "+++ b/out/y") || !strings.Contains(patch.String(), "+++ b/x") {
		t.Errorf("the patch is %s", patch.String())
	}
	next, _ := cloning(t, s)
	again := open(t, next, task, o, last)
	point(t, again)
	calm("made again")
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("the files differ: %s\n%s", got, want)
	}
}

// A repository that is too large is an error that stays, before it fills the disk.
func TestP9_LargeRepositories(t *testing.T) {
	t.Parallel()
	s := serveGit(t, map[string]string{"a.git": newRepository(t)})
	for name, l := range map[string]workspace.Limits{"files": {Files: 3}, "bytes": {TreeBytes: 20},
		"repository": {CloneBytes: 20}} {
		w, dir := cloning(t, s, func(o *workspace.Options) { o.Limits = l })
		_, err := w.Open(t.Context(), fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: s.URL + "/a.git"}},
			space(t).Objects, nil)
		if _, ok := errors.AsType[*fleet.PermanentError](err); !ok || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

// In a sandbox the record of a hostile repository is made inside of it.
func TestP9_RecordedInTheSandbox(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.New(t.TempDir(), sandbox.Options{Level: sandbox.Workspace}); err != nil {
		peer.Missing(t, "no sandbox here: %v", err)
	}
	dir, canary := traps(t)
	s := serveGit(t, map[string]string{"a.git": dir})
	boxed := func(o *workspace.Options) {
		o.Environments = map[string]workspace.Environment{"box": {Sandbox: sandbox.Workspace}}
	}
	w, _ := cloning(t, s, boxed)
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Environment: "box", Repo: &fleet.Repo{URL: s.URL + "/a.git"}}
	ws := open(t, w, task, o, nil)
	do(t, ws, `git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m x; echo x > x; echo no 2>/dev/null > `+canary+` || :`)
	last := point(t, ws)
	if _, err := os.Lstat(canary); err == nil || last.Git == "" {
		t.Errorf("the point is %+v, and the task wrote outside: %v", last, err)
	}
	next, _ := cloning(t, s, boxed)
	again := open(t, next, task, o, last)
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("the files differ: %s\n%s", got, want)
	}
	if got, want := runGit(t, dirOf(again), "log", "-1", "--format=%H %s"), runGit(t, dirOf(ws), "log", "-1",
		"--format=%H %s"); got != want {
		t.Errorf("HEAD is %s instead of %s", got, want)
	}
}
