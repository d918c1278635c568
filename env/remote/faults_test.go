package remote_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/search"
)

var cutAll = flag.Bool("cut.all", false, "cut the conversation at every byte, not only in each part of each frame")

// waitTime bounds what must not hang.
const waitTime = 20 * time.Second

// cutter passes bytes between the two sides and counts them. It breaks both streams when one
// direction has passed its limit.
type cutter struct {
	limit [2]int // negative for none
	mu    sync.Mutex
	seen  [2][]byte // kept without limits
	ends  []io.Closer
	pumps sync.WaitGroup
}

// newCutter puts a cutter between two streams.
func newCutter(t testing.TB, limit [2]int) (near duplex, far duplex, c *cutter) {
	t.Helper()
	near, a := pipes(t)
	b, far := pipes(t)
	c = &cutter{limit: limit, ends: []io.Closer{a, b}}
	c.pumps.Go(func() { c.pump(0, a, b) })
	c.pumps.Go(func() { c.pump(1, b, a) })
	return near, far, c
}

func (c *cutter) pump(direction int, from, to duplex) {
	defer func() {
		for _, e := range c.ends {
			_ = e.Close() // it may be closed by the other direction
		}
	}()
	buf := make([]byte, 64<<10)
	left := c.limit[direction]
	for {
		n, err := from.Read(buf)
		b := buf[:n]
		if left >= 0 {
			b = b[:min(left, n)]
			left -= len(b)
		}
		c.mu.Lock()
		c.seen[direction] = append(c.seen[direction], b...)
		c.mu.Unlock()
		if _, errW := to.Write(b); err != nil || errW != nil || left == 0 {
			return
		}
	}
}

// offsets returns places in a recorded direction: in the middle of each frame's header, after it,
// in the middle of its body, and after the frame.
func offsets(data []byte) (at []int) {
	for pos := 0; pos+12 <= len(data); {
		body := 0
		if data[pos+1] == 0 {
			body = int(binary.BigEndian.Uint32(data[pos+8:]))
		}
		at = append(at, pos+5, pos+12)
		if body > 0 {
			at = append(at, pos+12+body/2, pos+12+body)
		}
		pos += 12 + body
	}
	return at
}

// story uses every operation. Each step returns its error.
func story(ctx context.Context, e env.Environment) (errs []error) {
	add := func(err error) { errs = append(errs, err) }
	tree, replacer := env.TreeOf(e), e.(env.Replacer)
	add(e.WriteFile(ctx, "a.txt", []byte("one\n"), 0o644))
	_, err := e.Stat(ctx, "a.txt")
	add(err)
	add(replacer.Replace(ctx, "a.txt", env.HashOf([]byte("one\n")), []byte("two\n"), 0o644))
	add(tree.Mkdir(ctx, "dir", 0o755))
	add(tree.Symlink(ctx, "a.txt", "link"))
	_, err = tree.Lstat(ctx, "link")
	add(err)
	_, err = tree.Readlink(ctx, "link")
	add(err)
	add(tree.Chmod(ctx, "a.txt", 0o600))
	_, err = e.ReadDir(ctx, ".")
	add(err)
	_, err = env.Resolve(ctx, e, "link")
	add(err)
	add(readTwo(ctx, e))
	unlock, err := env.Lock(ctx, e, "a.txt")
	add(err)
	if err == nil {
		unlock()
	}
	d, err := env.OpenDir(ctx, e, ".")
	add(err)
	_, err = d.List(ctx)
	add(err)
	_, err = search.Grep(ctx, e, search.Query{Pattern: "two"})
	add(err)
	_, err = search.Glob(ctx, e, "*.txt", "")
	add(err)
	add(replacer.Delete(ctx, "link", env.HashOf([]byte("two\n"))))
	add(e.Remove(ctx, "dir"))
	return errs
}

// readTwo reads the file, which has its whole content or an error.
func readTwo(ctx context.Context, e env.Environment) error {
	f, err := e.Open(ctx, "a.txt")
	if err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err == nil && string(data) != "two\n" {
		err = fmt.Errorf("the file has %q", data)
	}
	return errors.Join(err, f.Close())
}

func readAll(ctx context.Context, e env.Environment, name string) error {
	f, err := e.Open(ctx, name)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(f)
	return errors.Join(err, f.Close())
}

// commandStory starts a command with input, and kills another.
func commandStory(ctx context.Context, e env.Environment) (errs []error) {
	p, err := e.Start(ctx, env.Command{Script: "read line; echo $line; sleep 1000 & echo $! >pid; wait", Stdin: true,
		Output: func(int, []byte) {}})
	if err != nil {
		return []error{err}
	}
	_, err = p.Stdin().Write([]byte("hello\n"))
	errs = append(errs, err)
	for err == nil { // until the command has read it
		var info env.Info
		if info, err = e.Stat(ctx, "pid"); err == nil && info.Size > 0 {
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	errs = append(errs, err, p.Kill(ctx))
	_, err = p.Wait(ctx)
	return append(errs, err)
}

// runCut runs a story over a stream that is cut, and checks that every error says so and that
// nothing hangs or is left.
func runCut(t *testing.T, limit [2]int, story func(context.Context, env.Environment) []error) *cutter {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeoutCause(t.Context(), waitTime, errors.New("it hangs"))
	defer cancel()
	near, far, c := newCutter(t, limit)
	wait := served(t, far)
	e, err := remote.New(ctx, near, remote.Options{Dir: dir})
	if err == nil {
		for i, err := range story(ctx, e) {
			if err != nil && !errors.Is(err, env.ErrLost) {
				t.Errorf("cut at %v: step %d: %v", limit, i, err)
			}
		}
		_ = e.Close() // it says that the stream has broken
	} else if !errors.Is(err, env.ErrLost) {
		t.Errorf("cut at %v: New: %v", limit, err)
	}
	_ = wait() // an error of the greeting, or of the stream
	c.pumps.Wait()
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err == nil && string(data) != "one\n" &&
		string(data) != "two\n" {
		t.Errorf("cut at %v: the file has %q", limit, data)
	}
	return c
}

// A stream that breaks at any place of a conversation leads to errors that say so. Nothing hangs,
// and nothing is left on either side.
func TestO1_CutAtEveryFrame(t *testing.T) {
	for name, s := range map[string]func(context.Context, env.Environment) []error{"files": story,
		"commands": commandStory} {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			whole := runCut(t, [2]int{-1, -1}, s)
			var places [][2]int
			for direction, data := range whole.seen {
				at := offsets(data)
				if len(at) < 10 {
					t.Fatalf("a conversation of %d places", len(at))
				}
				step := map[string]int{"files": 3, "commands": 9}[name]
				if *cutAll {
					step, at = 1, at[:0]
					for i := range data {
						at = append(at, i+1)
					}
				}
				for i := direction; i < len(at); i += step {
					limit := [2]int{-1, -1}
					limit[direction] = at[i]
					places = append(places, limit)
				}
			}
			var all sync.WaitGroup
			next := make(chan [2]int)
			for range 8 {
				all.Go(func() {
					for limit := range next {
						runCut(t, limit, s)
					}
				})
			}
			for _, limit := range places {
				next <- limit
			}
			close(next)
			all.Wait()
			goleak.VerifyNone(t, leaks)
			t.Logf("%d places in %d and %d bytes", len(places), len(whole.seen[0]), len(whole.seen[1]))
		})
	}
}

// stuck is a stream whose Read does not return any more, also after Close.
type stuck struct {
	duplex
	mu    sync.Mutex
	stop  bool
	reads int
	never chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	s.mu.Lock()
	s.reads++
	stop := s.stop
	s.mu.Unlock()
	if stop {
		<-s.never
		return 0, io.EOF
	}
	n, err := s.duplex.Read(p)
	s.mu.Lock()
	stop = s.stop
	s.mu.Unlock()
	if stop {
		<-s.never
	}
	return n, err
}

func (s *stuck) Write(p []byte) (int, error) {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop {
		<-s.never
	}
	return s.duplex.Write(p)
}

func (s *stuck) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = true
	return nil
}

// Silence ends a stream, even if its Read, Write and Close do nothing any more. Operations under
// way return ErrLost, and nothing spins.
func TestO1_SilentStream(t *testing.T) {
	near, far := pipes(t)
	s := &stuck{duplex: near, never: make(chan struct{})}
	wait := served(t, far)
	e, err := remote.New(t.Context(), s, remote.Options{Dir: t.TempDir(), Silence: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start(t.Context(), env.Command{Script: "sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := p.Wait(t.Context()); !errors.Is(err, env.ErrLost) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := e.Stat(t.Context(), "."); !errors.Is(err, env.ErrLost) {
		t.Errorf("Stat: %v", err)
	}
	_ = e.Close()
	s.mu.Lock()
	if s.reads > 1000 {
		t.Errorf("%d reads", s.reads)
	}
	s.mu.Unlock()
	if err := wait(); err != nil { // the far side has heard nothing either
		t.Errorf("Serve: %v", err)
	}
	close(s.never)
	_ = near.Close()
}

// An environment that can dial again does so before the next operation, once for all that wait, and
// what was under way is lost.
func TestO1_Redial(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	dir := t.TempDir()
	near, far := pipes(t)
	waits := []func() error{served(t, far)}
	e, err := remote.New(t.Context(), near, remote.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var dials int
	refuse := errors.New("not now")
	e.SetRedial(func(context.Context) (io.ReadWriteCloser, error) {
		if dials++; dials == 1 {
			return nil, refuse
		}
		near, far := pipes(t)
		waits = append(waits, served(t, far))
		return near, nil
	})
	p, err := e.Start(t.Context(), env.Command{Script: "sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	_ = near.Close()
	if _, err := p.Wait(t.Context()); !errors.Is(err, env.ErrLost) {
		t.Fatalf("Wait: %v", err)
	}
	if _, err := e.Stat(t.Context(), "."); !errors.Is(err, env.ErrLost) || !strings.Contains(err.Error(),
		refuse.Error()) {
		t.Errorf("Stat while nobody answers: %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := e.WriteFile(t.Context(), "a", []byte("x"), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if dials != 2 {
		t.Errorf("%d dials, want 2", dials)
	}
	again, err := e.Start(t.Context(), env.Command{Script: "exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := again.Wait(t.Context()); err != nil || exit.Code != 3 || again.ID() == p.ID() {
		t.Errorf("%+v, %v, ids %s and %s", exit, err, p.ID(), again.ID())
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Stat(t.Context(), "."); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat after Close: %v", err)
	}
	for _, wait := range waits {
		_ = wait()
	}
	goleak.VerifyNone(t, leaks)
}

// untold is a far side's stream that ends, before it says so, when a command has started and
// written a file.
type untold struct {
	duplex
	file string
	told chan error
}

func (u *untold) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte(`{"id":"p`)) {
		return u.duplex.Write(p)
	}
	var err error
	if !await.Holds(func() bool { data, _ := os.ReadFile(u.file); return len(data) > 0 }) {
		err = errors.New("the command has not run")
	}
	_ = u.Close() // the server closes it, too
	u.told <- err
	return 0, io.ErrClosedPipe
}

// A command whose start is not confirmed, because the stream breaks, is lost. It has run, and is
// not run again.
func TestO1_UnconfirmedStart(t *testing.T) {
	dir := t.TempDir()
	near, far := pipes(t)
	u := &untold{duplex: far, file: filepath.Join(dir, "log"), told: make(chan error, 1)}
	waits := []func() error{served(t, u)}
	e, err := remote.New(t.Context(), near, remote.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	e.SetRedial(func(context.Context) (io.ReadWriteCloser, error) {
		near, far := pipes(t)
		waits = append(waits, served(t, far))
		return near, nil
	})
	if _, err := e.Start(t.Context(), env.Command{Script: "echo ran >>log"}); !errors.Is(err, env.ErrLost) {
		t.Errorf("Start: %v", err)
	}
	if err := <-u.told; err != nil {
		t.Error(err)
	}
	f, err := e.Open(t.Context(), "log")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "ran\n" {
		t.Errorf("the log has %q, %v", text, err)
	}
	if err := errors.Join(f.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	for _, wait := range waits {
		_ = wait() // the first stream has broken
	}
}

// What broke a connection, or keeps it from being made again, is not taken for the end of a file or
// for a missing file.
func TestO1_LostIsNothingElse(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", string(make([]byte, 1<<20)))
	near, helper := child(t)
	e, err := remote.New(t.Context(), near, remote.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	e.SetRedial(func(context.Context) (io.ReadWriteCloser, error) {
		return nil, &fs.PathError{Op: "exec", Path: "box", Err: fs.ErrNotExist}
	})
	f, err := e.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait() // killed
	data, readErr := io.ReadAll(f)
	_, statErr := e.Stat(t.Context(), "b")
	for what, err := range map[string]error{"reading": readErr, "asking": statErr} {
		if !errors.Is(err, env.ErrLost) || len(data) == 1<<20 {
			t.Errorf("%s: %v", what, err)
		}
		for _, other := range []error{io.EOF, io.ErrUnexpectedEOF, fs.ErrNotExist, fs.ErrClosed} {
			if errors.Is(err, other) {
				t.Errorf("%s: %q is %q", what, err, other)
			}
		}
	}
	if !strings.Contains(fmt.Sprint(statErr), "exec box: ") {
		t.Errorf("error %v", statErr)
	}
	_ = errors.Join(f.Close(), e.Close()) // the stream has broken
}

// A helper that is killed is lost. What it has left is ended by the next helper at the latest, and
// TestMain finds nothing.
func TestO1_KilledHelper(t *testing.T) {
	for _, level := range []string{"", env.ContainGroup} {
		near, helper := child(t)
		e, err := remote.New(t.Context(), near, remote.Options{Dir: t.TempDir(), Containment: level})
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan struct{}, 1)
		p, err := e.Start(t.Context(), env.Command{Script: "setsid sleep 1000 & sleep 1000 & echo; wait",
			Output: func(int, []byte) { lines <- struct{}{} }})
		if err != nil {
			t.Fatal(err)
		}
		<-lines
		if err := helper.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(t.Context()); !errors.Is(err, env.ErrLost) {
			t.Errorf("Wait: %v", err)
		}
		_ = helper.Wait() // killed
		_ = e.Close()
		next, helper := child(t)
		e, err = remote.New(t.Context(), next, remote.Options{Containment: level})
		if err != nil {
			t.Fatal(err)
		}
		ended, err := e.Abandoned()
		if err != nil || level == env.ContainGroup && len(ended) == 0 {
			t.Errorf("%q: the next helper has ended %q, %v", level, ended, err)
		}
		if err := errors.Join(e.Close(), helper.Wait()); err != nil {
			t.Error(err)
		}
	}
}
