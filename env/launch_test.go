//go:build unix

package env_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// inPlace implements LocalOptions.Launch with a program that executes the command in its own place,
// as one that drops privileges does.
func inPlace(_ context.Context, l env.Launch) (env.Launch, error) {
	l.Args = append([]string{"/bin/sh", "-c", `WRAPPED=yes exec "$@"`, "sh"}, l.Args...)
	return l, nil
}

// A wrapped command has its own exit, signal, output, input and terminal at every level.
func TestJ9_LaunchIsExact(t *testing.T) { atLevels(t, launchIsExact) }

func launchIsExact(t *testing.T, level string) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Launch: inPlace, Containment: level})
	for script, want := range map[string]env.Exit{"exit 37": {Code: 37}, "kill -9 $$": {Code: -1, Signal: "SIGKILL"},
		"kill -SEGV $$": {Code: -1, Signal: "SIGSEGV"}} {
		exit := wait(t, start(t, l, env.Command{Script: script}))
		if exit.Code != want.Code || exit.Signal != want.Signal {
			t.Errorf("%s: %+v, want %+v", script, exit, want)
		}
	}
	out := watch()
	p := start(t, l, env.Command{Script: `read -r x; echo "$x $WRAPPED $ADDED"; pwd; echo err >&2`, Stdin: true,
		Output: out.Write, Env: []string{"ADDED=1"}})
	if _, err := io.WriteString(p.Stdin(), "in\n"); err != nil {
		t.Fatal(err)
	}
	if wait(t, p); out.String() != "in yes 1\n"+l.WorkDir()+"\nerr\n" &&
		out.String() != "err\nin yes 1\n"+l.WorkDir()+"\n" {
		t.Errorf("output %q", out)
	}
	if runtime.GOOS != "linux" {
		return // terminals are not supported
	}
	out = watch()
	p = start(t, l, env.Command{Script: `stty size; tty >/dev/null && echo terminal`,
		TTY: &env.Size{Rows: 20, Cols: 50}, Output: out.Write})
	if wait(t, p); out.String() != "20 50\r\nterminal\r\n" {
		t.Errorf("in a terminal: %q", out)
	}
}

// The suite passes with wrapped commands, including that a kill ends everything.
func TestJ9_LaunchPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment {
		return newLocal(t, t.TempDir(), env.LocalOptions{Launch: inPlace})
	})
}

// Launch determines exactly the program, directory, environment and files.
func TestJ9_LaunchDecidesEverything(t *testing.T) { atLevels(t, launchDecidesEverything) }

func launchDecidesEverything(t *testing.T, level string) {
	t.Setenv("OF_THE_HOST", "secret")
	elsewhere := t.TempDir()
	var seen env.Launch
	var files []*os.File
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Env: []string{"MORE=1"},
		Launch: func(_ context.Context, given env.Launch) (env.Launch, error) {
			seen = given
			files = nil
			for range 2 {
				r, w, err := os.Pipe()
				if err == nil {
					_, err = io.WriteString(w, "from a file\n")
				}
				if err = errors.Join(err, w.Close()); err != nil {
					return given, err
				}
				files = append(files, r)
			}
			return env.Launch{Args: []string{"/bin/sh", "-c",
				`pwd; cat <&3; cat <&4; echo "${OF_THE_HOST-none} ${MORE-none} ${PATH:+path} ${` + env.MarkVar +
					`:+mark}"; ls /dev/fd/5 2>/dev/null`},
				Dir: elsewhere, Files: files}, nil
		}})
	out := watch()
	if exit := wait(t, start(t, l, env.Command{Script: "exit 3", Env: []string{"OF_THE_COMMAND=1"},
		Output: out.Write})); exit.Code == 3 {
		t.Error("the command itself was started")
	}
	mark := ""
	if runtime.GOOS == "linux" {
		mark = "mark"
	}
	text := out.String()
	if want := "from a file\nfrom a file\nnone none path " + mark + "\n"; !strings.HasSuffix(text, want) ||
		!strings.Contains(text, filepath.Base(elsewhere)) {
		t.Errorf("output %q, want suffix %q", text, want)
	}
	for _, f := range files {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a file that the command got was left open: %v", err)
		}
	}
	if !slices.Equal(seen.Args, []string{l.Platform().Shell, "-c", "exit 3"}) || seen.Dir != l.WorkDir() ||
		!slices.Contains(seen.Env, "MORE=1") ||
		!slices.Contains(seen.Env, "OF_THE_COMMAND=1") {
		t.Errorf("Launch received %+v", seen)
	}
}

func TestJ9_LaunchRefuses(t *testing.T) {
	dir := t.TempDir()
	why := errors.New("no sandbox to be had")
	for name, c := range map[string]struct {
		launch func(context.Context, env.Launch) (env.Launch, error)
		want   string
	}{
		"an error": {func(_ context.Context, l env.Launch) (env.Launch, error) { return l, why }, why.Error()},
		"a panic": {func(context.Context, env.Launch) (env.Launch, error) { panic("broken") },
			"LocalOptions.Launch panicked: broken"},
		"Goexit": {func(context.Context, env.Launch) (env.Launch, error) {
			runtime.Goexit()
			return env.Launch{},
				nil
		}, "LocalOptions.Launch called runtime.Goexit"},
		"no program": {func(context.Context, env.Launch) (env.Launch, error) { return env.Launch{}, nil },
			"no program"},
		"not there": {func(_ context.Context, l env.Launch) (env.Launch, error) {
			l.Args = append([]string{"no-such-sandbox"}, l.Args...)
			return l, nil
		}, "no-such-sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, dir, env.LocalOptions{Launch: c.launch})
			_, err := l.Start(t.Context(), env.Command{Script: "touch started"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Start: %v, want %q", err, c.want)
			}
			if name == "an error" && !errors.Is(err, why) {
				t.Errorf("Start: %v does not wrap the error", err)
			}
		})
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("a command was started: %v, %v", names, err)
	}
}

// Start waits for Launch no longer than its context allows, and closes the files of a late answer.
func TestJ9_LaunchHangs(t *testing.T) {
	hangs, free, late := make(chan struct{}), make(chan struct{}), make(chan *os.File, 1)
	l := newLocal(t, t.TempDir(), env.LocalOptions{Launch: func(_ context.Context, l env.Launch) (env.Launch, error) {
		close(hangs)
		<-free
		r, w, err := os.Pipe()
		l.Files = []*os.File{w}
		late <- r
		return l, err
	}})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-hangs; cancel(gone) }()
	if _, err := l.Start(ctx, env.Command{Script: "true"}); !errors.Is(err, gone) {
		t.Errorf("Start: %v, want %v", err, gone)
	}
	close(free)
	r := <-late
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF { // returns when the other end is closed
		t.Errorf("read %d, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A file may be listed twice, or closed by whoever opened it: the command runs anyway.
func TestJ9_LaunchGivesAFileTwice(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Launch: func(_ context.Context, given env.Launch) (env.Launch,
		error) {
		f, err := os.Open("/dev/null")
		given.Files = []*os.File{f, f}
		return given, err
	}})
	p, err := l.Start(t.Context(), env.Command{Script: `test -e /dev/fd/3 && test -e /dev/fd/4`})
	if err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 0 {
		t.Errorf("%+v, want both", exit)
	}
}

// Launch.Ended is called once, before Wait returns or Start fails. A panic in it has no effect.
func TestJ9_LaunchEnded(t *testing.T) {
	var ended atomic.Int32
	program := "/bin/sh"
	l := newLocal(t, t.TempDir(), env.LocalOptions{Launch: func(_ context.Context, l env.Launch) (env.Launch, error) {
		l.Args[0] = program
		l.Ended = func() {
			ended.Add(1)
			panic("in Ended")
		}
		return l, nil
	}})
	if result, err := env.Run(t.Context(), l, env.Command{Script: "exit 3"}, 0); err != nil || result.Code != 3 ||
		ended.Load() != 1 {
		t.Errorf("%+v %v, ended %d times", result, err, ended.Load())
	}
	program = "/nowhere"
	if _, err := l.Start(t.Context(), env.Command{Script: "true"}); err == nil || ended.Load() != 2 {
		t.Errorf("%v, ended %d times", err, ended.Load())
	}
}
