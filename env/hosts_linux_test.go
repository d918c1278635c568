package env_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// A host with EndAbandoned ends the processes that a killed host left running and lists them. It
// leaves all others alone.
func TestI5_WhatAKilledHostLeft(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) // so that no other host on this machine is faster
	atLevels(t, func(t *testing.T, level string) {
		if level != env.ContainGroup && level != env.ContainCgroup {
			t.Skip("nothing is left where there is a namespace: TestI5_AKilledHostLeavesNothing")
		}
		other, tag := watch(), newTag()
		mine := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		start(t, mine, env.Command{Script: "echo ready; exec sleep 1000", Env: []string{tag}, Output: other.Write})
		other.until(t, "ready\n")
		_, held := killHost(t, level,
			`trap '' TERM; sleep 1000 & setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' & wait`)
		unasked := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		if lines, err := unasked.Abandoned(); err != nil || len(lines) > 0 {
			t.Errorf("unasked: %q, %v", lines, err)
		}
		next := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, EndAbandoned: true, Grace: testGrace})
		lines, err := next.Abandoned()
		text := strings.Join(lines, "\n")
		if err != nil || len(lines) < 3 || strings.Count(text, " sleep 1000") < 2 {
			t.Errorf("ended %q, %v", lines, err)
		}
		if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 { // returns when no process holds the other end
			t.Errorf("%q, %v", rest, err)
		}
		if len(withVar(t, tag)) != 1 {
			t.Error("the command of a running host was ended")
		}
		again := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, EndAbandoned: true})
		if lines, err := again.Abandoned(); err != nil || len(lines) > 0 {
			t.Errorf("once more: %q, %v", lines, err)
		}
	})
}

// With namespaces a killed host leaves nothing running.
func TestI5_AKilledHostLeavesNothing(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		if level == env.ContainGroup || level == env.ContainCgroup {
			t.Skip("no namespace here: TestI5_WhatAKilledHostLeft")
		}
		tag := newTag()
		_, held := killHost(t, level,
			`trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; echo ready; sleep 1000; :' & env -i setsid sleep 1000 & sleep 1000`, tag)
		if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
	})
}

// A command of root cannot keep a process alive by stopping the keeper's child or by holding its
// pipe open.
func TestI5_NothingOutlivesAKilledHost(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		if level == env.ContainGroup || level == env.ContainCgroup {
			t.Skip("no namespace here: TestI5_WhatAKilledHostLeft")
		}
		_, held := killHost(t, level, `exec 9>/proc/1/fd/0
			for pid in $(cd /proc && echo [0-9]*); do [ $pid = 1 ] || [ $pid = $$ ] || kill -STOP $pid 2>/dev/null; done
			echo ready; exec sleep 1000`)
		if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 { // returns when no process holds the other end
			t.Errorf("%q, %v", rest, err)
		}
	})
}

// A process does not end itself, or the command in which it runs, when its own host has ended.
func TestI5_OwnCommandIsKept(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	said, held := killHost(t, env.ContainGroup, `echo "$`+env.MarkVar+`"; echo ready; exec sleep 1000`)
	mark := strings.Fields(said)[0]
	cmd := exec.Command(os.Args[0], "-test.run=^TestI5_NestedHost$", "-test.count=1")
	cmd.Env = append(os.Environ(), env.MarkVar+"="+mark, "ATTRACTOR_TEST_ABANDONED=0")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup, EndAbandoned: true, Grace: -1})
	if lines, err := l.Abandoned(); err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], " sleep 1000") {
		t.Errorf("%q, %v", lines, err)
	}
	if _, err := io.ReadAll(held); err != nil {
		t.Error(err)
	}
}

// A host in other namespaces, which shares the directory of locks and does not see what a killed
// host left, or may not look into it, leaves that to one who does.
func TestI5_HostInOtherNamespaces(t *testing.T) {
	for name, apart := range map[string][]string{"user": {"unshare", "-r"}, "processes": {"unshare", "-rpf",
		"--mount-proc"}} {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command(apart[0], append(apart[1:], "true")...).CombinedOutput(); err != nil {
				t.Skipf("not run: %s is not possible here: %v: %s", strings.Join(apart, " "), err, out)
			}
			t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
			_, held := killHost(t, env.ContainGroup, "echo ready; exec sleep 1000")
			cmd := exec.Command(apart[0], append(apart[1:], os.Args[0], "-test.run=^TestI5_NestedHost$",
				"-test.count=1")...)
			cmd.Env = append(os.Environ(), "ATTRACTOR_TEST_ABANDONED=0")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
				t.Errorf("%v: %s", err, out)
			}
			l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup, EndAbandoned: true,
				Grace: -1})
			if lines, err := l.Abandoned(); err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0],
				" sleep 1000") {
				t.Fatalf("%q, %v", lines, err)
			}
			if _, err := io.ReadAll(held); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestI5_NestedHost runs as a host process in the command of a host that has ended, or in other
// namespaces.
func TestI5_NestedHost(t *testing.T) {
	if os.Getenv("ATTRACTOR_TEST_ABANDONED") == "" {
		t.Skip("a helper process of other tests")
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup, EndAbandoned: true, Grace: -1})
	if lines, err := l.Abandoned(); err != nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
}

// A file that no host has made ends nothing, even if its name is part of the mark of a living host
// or is in use in another directory.
func TestI5_OnlyWholeIds(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	living := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	out := watch()
	start(t, living, env.Command{Script: "echo $" + env.MarkVar + "; exec sleep 1000", Output: out.Write})
	out.until(t, "\n")
	parts := strings.Split(strings.TrimSpace(out.String()), "/")
	id, _, _ := strings.Cut(parts[len(parts)-1], ".")
	for _, name := range []string{"", id[1:], id + "." + id} {
		if err := os.WriteFile(os.Getenv("XDG_RUNTIME_DIR")+"/attractor/"+name+".host", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := "/tmp/attractor-" + strconv.Itoa(os.Geteuid())
	if err := os.Mkdir(other, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	forged := filepath.Join(other, id+".host")
	if err := os.WriteFile(forged, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(forged)
	next := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup, EndAbandoned: true, Grace: -1})
	if lines, err := next.Abandoned(); err != nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
}

// A host that ends normally leaves no file.
func TestI5_NoFileIsLeft(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	text, _ := run(t, l, env.Command{Script: "echo $" + env.MarkVar})
	parts := strings.Split(strings.TrimSpace(text), "/")
	host, _, ok := strings.Cut(parts[len(parts)-1], ".")
	files := func() []string {
		list, err := filepath.Glob(os.Getenv("XDG_RUNTIME_DIR") + "/attractor/*")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := files(); !ok || len(list) != 1 || !strings.HasPrefix(filepath.Base(list[0]), host+".") ||
		filepath.Ext(list[0]) != ".host" {
		t.Errorf("%s: %q", text, files())
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil || len(files()) != 0 {
		t.Errorf("after Close: %q, %v", files(), err)
	}
}
