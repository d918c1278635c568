package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// tracked is a workspace with a tracker, and the points that it noted.
type tracked struct {
	*testing.T
	*checkpoint.Tracker
	options  checkpoint.TrackerOptions
	store    checkpoint.Store
	env      *env.Local
	points   []checkpoint.Point
	warnings []string
}

func newTracked(t *testing.T) *tracked {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	store, err := checkpoint.OpenDir(t.TempDir(), checkpoint.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &tracked{T: t, env: local, store: store}
	w.options = checkpoint.TrackerOptions{Env: local, Note: w.note,
		Warn:     func(err error) { w.warnings = append(w.warnings, err.Error()) },
		Recorder: checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "test"})}
	w.Tracker = checkpoint.NewTracker(w.options)
	return w
}

func (w *tracked) note(_ context.Context, kind string, data json.RawMessage, text string) error {
	var p checkpoint.Point
	if err := json.Unmarshal(data, &p); err != nil || kind != checkpoint.NoteKind || text != "" {
		w.Errorf("the note %s %s %q, %v", kind, data, text, err)
	}
	w.points = append(w.points, p)
	return nil
}

// write changes a file past the tracker.
func (w *tracked) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.env.WorkDir(), name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// call runs do as a call with an access.
func (w *tracked) call(ctx context.Context, id string, access tool.Access, do func() tool.Result) {
	w.Helper()
	run := w.Middleware(func(context.Context, *tool.Call) (tool.Result, error) { return do(), nil })
	if _, err := run(ctx, &tool.Call{ID: id, Access: access.In(w.env.WorkDir()), Env: w.env}); err != nil {
		w.Fatal(err)
	}
}

// command is a call that writes a file, as a command.
func (w *tracked) command(id, name, text string) {
	w.Helper()
	w.call(w.Context(), id, tool.Access{Effect: tool.Writes, Command: "x"},
		func() tool.Result { w.write(name, text); return tool.Text("") })
}

// edit is a call of a file tool that writes a file and says so.
func (w *tracked) edit(id, name, text string) {
	w.Helper()
	w.call(w.Context(), id, tool.Access{Effect: tool.Writes, Paths: []string{name}}, func() tool.Result {
		w.write(name, text)
		return tool.Result{Changes: []tool.Change{{Kind: tool.Modified, Path: filepath.Join(w.env.WorkDir(), name)}}}
	})
}

// changed returns the points as lines: the call, and what differs between its trees.
func (w *tracked) changed() (lines []string) {
	w.Helper()
	for _, p := range w.points {
		if p.After == env.NoFile {
			lines = append(lines, p.Call+" begins")
			continue
		}
		changes, err := checkpoint.Changes(w.Context(), w.store, p.Before, p.After)
		if err != nil {
			w.Fatal(err)
		}
		var names []string
		for _, c := range changes {
			names = append(names, c.Path)
		}
		lines = append(lines, p.Call+" "+strings.Join(names, ","))
	}
	return lines
}

func (w *tracked) want(lines ...string) {
	w.Helper()
	if diff := gocmp.Diff(lines, w.changed()); diff != "" {
		w.Errorf("points (-want +got):\n%s", diff)
	}
}

// composed returns what the session has changed, by all points.
func (w *tracked) composed() (lines []string) {
	w.Helper()
	changes, err := checkpoint.Compose(w.Context(), w.store, w.points, env.NoFile)
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s mixed %v unknown %v", c.Path, c.Mixed, c.Unknown))
	}
	return lines
}

// Nothing is recorded before the first call that may change something. Each call that changes
// something has a point, and what somebody else changes in between is in no point.
func TestO3_TrackerPoints(t *testing.T) {
	w := newTracked(t)
	w.write("a", "1")
	w.call(t.Context(), "looks", tool.Access{Effect: tool.ReadOnly},
		func() tool.Result { w.write("b", "by nobody"); return tool.Text("") })
	w.want()
	w.command("c1", "a", "two")
	w.command("c2", "a", "two")
	w.edit("c3", "new", "x")
	w.want("c1 begins", "c1 a", "c3 new")
	w.write("b", "by somebody else")
	w.edit("c4", "a", "three")
	w.command("c5", "a", "four and more")
	w.want("c1 begins", "c1 a", "c3 new", "c4 begins", "c4 a", "c5 a")
	if left := w.points[0].Left; left == nil || w.points[1].Left != nil {
		t.Errorf("the first points say %v and %v of what is left out", left, w.points[1].Left)
	}
	if diff := gocmp.Diff([]string{"a mixed false unknown false", "new mixed false unknown false"},
		w.composed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Calls that overlap leave no gap between the points that would be taken for somebody else's
// changes.
func TestO3_TrackerParallelCalls(t *testing.T) {
	w := newTracked(t)
	begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		w.call(w.Context(), "slow", tool.Access{Effect: tool.Writes, Command: "x"}, func() tool.Result {
			w.write("slow", "1")
			close(begun)
			<-goOn
			w.write("slow", "and 2")
			return tool.Text("")
		})
	}()
	<-begun
	w.command("fast", "fast", "1")
	w.edit("edit", "edited", "1")
	close(goOn)
	<-ended
	w.want("slow begins", "fast fast,slow", "edit edited", "slow slow")
	w.command("next", "next", "1")
	w.want("slow begins", "fast fast,slow", "edit edited", "slow slow", "next next")
}

// brokenRecorder fails as long as it is broken.
type brokenRecorder struct {
	*checkpoint.Recorder
	err error
}

func (r *brokenRecorder) Record(ctx context.Context, e env.Environment) (checkpoint.Tree, error) {
	if r.err != nil {
		return checkpoint.Tree{}, r.err
	}
	return r.Recorder.Record(ctx, e)
}

// A recording that fails stops no call. It is said once, what was changed meanwhile is unknown, and
// the next input is recorded again.
func TestO3_TrackerFailure(t *testing.T) {
	w := newTracked(t)
	broken := &brokenRecorder{Recorder: w.options.Recorder.(*checkpoint.Recorder)}
	w.options.Recorder = broken
	w.Tracker = checkpoint.NewTracker(w.options)
	w.command("c1", "a", "1")
	w.call(t.Context(), "c2", tool.Access{}, func() tool.Result {
		w.write("a", "two")
		broken.err = checkpoint.ErrFull
		return tool.Text("")
	})
	w.command("c3", "a", "three")
	broken.err = nil
	w.command("c4", "a", "still not")
	if len(w.warnings) != 1 || !strings.Contains(w.warnings[0], checkpoint.ErrFull.Error()) {
		t.Errorf("the warnings %q", w.warnings)
	}
	w.want("c1 begins", "c1 a", "c2 begins")
	w.NextInput()
	w.command("c5", "b", "1")
	w.want("c1 begins", "c1 a", "c2 begins", "c5 begins", "c5 b")
	if diff := gocmp.Diff([]string{"a mixed false unknown true", "b mixed false unknown false"},
		w.composed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken.err = errors.New("again")
	w.NextInput()
	w.command("c6", "b", "2")
	if len(w.warnings) != 2 {
		t.Errorf("the warnings %q", w.warnings)
	}
}

// A call that goes on in the next input, after a recording has failed, does not make every file
// look like the session's.
func TestO3_TrackerCallInTheNextInput(t *testing.T) {
	for _, another := range []bool{false, true} {
		w := newTracked(t)
		broken := &brokenRecorder{Recorder: w.options.Recorder.(*checkpoint.Recorder)}
		w.options.Recorder = broken
		w.Tracker = checkpoint.NewTracker(w.options)
		w.write("old", "1")
		begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			w.call(w.Context(), "slow", tool.Access{Effect: tool.Writes, Command: "x"}, func() tool.Result {
				close(begun)
				<-goOn
				w.write("slow", "1")
				return tool.Text("")
			})
		}()
		<-begun
		broken.err = checkpoint.ErrFull
		w.command("c2", "second", "1")
		broken.err = nil
		w.NextInput()
		if another {
			w.command("c3", "third", "1")
		}
		close(goOn)
		<-ended
		w.command("c4", "fourth", "1")
		for _, p := range w.points {
			if p.Before == env.NoFile {
				t.Errorf("another call %v: the point %+v has no beginning", another, p)
			}
		}
		for _, line := range w.composed() {
			if strings.HasPrefix(line, "old ") {
				t.Errorf("another call %v: the session has changed %s", another, line)
			}
		}
	}
}

// stuckRecorder returns another tree whenever n has changed. If it is stuck, it waits for the end
// of the context.
type stuckRecorder struct {
	n     atomic.Int64
	stuck atomic.Bool
}

func (r *stuckRecorder) Record(ctx context.Context, _ env.Environment) (checkpoint.Tree, error) {
	if r.stuck.Load() {
		<-ctx.Done()
		return checkpoint.Tree{}, context.Cause(ctx)
	}
	return checkpoint.Tree{Root: env.HashOf([]byte(strconv.FormatInt(r.n.Load(), 10)))}, nil
}

// A call whose recording is cut short is noted without an end, and one that waited for it meanwhile
// does not count as running for ever.
func TestO3_TrackerInterruptedRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := &stuckRecorder{}
		var lines []string
		note := func(ctx context.Context, _ string, data json.RawMessage, _ string) error {
			var p checkpoint.Point
			if err := errors.Join(context.Cause(ctx), json.Unmarshal(data, &p)); err != nil { // as Session.Note
				return err
			}
			lines = append(lines, fmt.Sprintf("%s ended %v", p.Call, p.After != env.NoFile))
			return nil
		}
		tracker := checkpoint.NewTracker(checkpoint.TrackerOptions{Recorder: recorder, Note: note,
			Warn: func(error) {}})
		call := func(ctx context.Context, id string, do func()) {
			run := tracker.Middleware(func(context.Context, *tool.Call) (tool.Result, error) {
				do()
				recorder.n.Add(1) // the call has changed something
				return tool.Result{}, nil
			})
			if _, err := run(ctx, &tool.Call{ID: id, Access: tool.Access{Effect: tool.Writes,
				Command: "x"}}); err != nil {
				t.Error(err)
			}
		}
		call(t.Context(), "first", func() {})
		recorded, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		waiting, interrupt := context.WithCancel(t.Context())
		goOn := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() { call(recorded, "recorded", func() { <-goOn }) })
		running.Go(func() { call(waiting, "waiting", func() { <-waiting.Done() }) })
		synctest.Wait()
		recorder.stuck.Store(true)
		close(goOn)
		synctest.Wait()
		interrupt()
		running.Wait()
		recorder.stuck.Store(false)
		tracker.NextInput()
		call(t.Context(), "next", func() {})
		recorder.n.Add(1) // somebody else
		call(t.Context(), "last", func() {})
		want := []string{"first ended false", "first ended true", "recorded ended false", "next ended false",
			"next ended true", "last ended false", "last ended true"}
		if diff := gocmp.Diff(want, lines); diff != "" {
			t.Errorf("points (-want +got):\n%s", diff)
		}
	})
}

// What the recording leaves out is in the first point that is kept, whatever became of others.
func TestO3_TrackerLeftAfterAFailedNote(t *testing.T) {
	w := newTracked(t)
	failing := true
	w.options.Note = func(ctx context.Context, kind string, data json.RawMessage, text string) error {
		if failing {
			return errors.New("the journal is full")
		}
		return w.note(ctx, kind, data, text)
	}
	w.Tracker = checkpoint.NewTracker(w.options)
	w.command("c1", "a", "1")
	failing = false
	w.NextInput()
	w.command("c2", "a", "2")
	if len(w.points) == 0 || w.points[0].Left == nil {
		t.Errorf("the points %+v do not say what is left out", w.points)
	}
}

// What an interrupted call has changed is recorded, although its context has ended.
func TestO3_TrackerInterruptedCall(t *testing.T) {
	w := newTracked(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.call(ctx, "c1", tool.Access{},
		func() tool.Result { w.write("half", "done"); cancel(); return tool.Errorf("interrupted") })
	w.want("c1 begins", "c1 half")
	w.call(ctx, "c2", tool.Access{}, func() tool.Result { return tool.Text("") }) // it would be refused
	if len(w.warnings) > 0 {
		t.Errorf("the warnings %q", w.warnings)
	}
}

// A resumed session goes on from its newest point. What changed since in a call that a kill has
// ended is unknown; without such a call it is somebody else's.
func TestO3_TrackerAfterResume(t *testing.T) {
	for _, killed := range []string{"", "c2"} {
		w := newTracked(t)
		w.command("c1", "a", "1")
		w.write("a", "by the killed call or somebody")
		w.options.Last, w.options.Killed = &w.points[1], killed
		w.Tracker = checkpoint.NewTracker(w.options)
		w.command("c3", "b", "1")
		want := []string{"c1 begins", "c1 a", "c3 begins", "c3 b"}
		if killed != "" {
			want = []string{"c1 begins", "c1 a", "c2 begins", "c3 begins", "c3 b"}
		}
		w.want(want...)
		if got := w.composed()[0]; got != fmt.Sprintf("a mixed false unknown %v", killed != "") {
			t.Errorf("killed %q: %s", killed, got)
		}
	}
}

// The killed call is noted when the session goes on, once, also if nothing is changed any more. One
// that has changed nothing makes nothing unknown that changes later.
func TestO3_TrackerNotesKilledCall(t *testing.T) {
	w := newTracked(t)
	w.command("c1", "a", "1")
	w.options.Last, w.options.Killed = &w.points[1], "c2"
	w.Tracker = checkpoint.NewTracker(w.options)
	must(t, errors.Join(w.Resumed(t.Context()), w.Resumed(t.Context())))
	w.want("c1 begins", "c1 a", "c2 begins")

	w = newTracked(t)
	w.command("c1", "a", "1")
	w.options.Last, w.options.Killed = &w.points[1], "c2"
	w.Tracker = checkpoint.NewTracker(w.options)
	w.command("c3", "b", "1")
	w.write("a", "by somebody")
	w.command("c4", "b", "2")
	w.want("c1 begins", "c1 a", "c3 b", "c4 begins", "c4 b")
	if got := w.composed()[0]; got != "a mixed false unknown false" {
		t.Error(got)
	}
}

// Write makes a recorded tree again in an empty directory.
func TestO5_Write(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions and links need a POSIX system")
	}
	w := newTracked(t)
	w.write("a", "1")
	dir := w.env.WorkDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "locked"), 0o755),
		os.Symlink("../nowhere", filepath.Join(dir, "link")), os.Chmod(filepath.Join(dir, "a"), 0o606)); err != nil {
		t.Fatal(err)
	}
	w.write("locked/inner", "2")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "locked/empty"), 0o700), os.Chmod(filepath.Join(dir, "locked"),
		0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	tree, err := w.options.Recorder.Record(t.Context(), w.env)
	if err != nil {
		t.Fatal(err)
	}
	other := newTracked(t)
	made, err := checkpoint.Write(t.Context(), w.store, tree.Root, other.env)
	if err != nil || made != 5 {
		t.Fatalf("%d made, %v", made, err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(other.env.WorkDir(), "locked"), 0o755) })
	again, err := other.options.Recorder.Record(t.Context(), other.env)
	if err != nil || again.Root != tree.Root {
		t.Errorf("the tree is %v, want %v, %v", again, tree, err)
	}
}

// What was not recorded and what belongs to a repository itself are left out of a tree that is made
// again.
func TestO5_WriteLeavesOut(t *testing.T) {
	e, _ := newLocal(t, map[string]string{"a": "1", "large": strings.Repeat("x", 100),
		"d/large": strings.Repeat("y", 100)})
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store, MaxFile: 99})
	tree := record(t, r, e)
	entries, err := checkpoint.ReadDirObject(t.Context(), store, tree.Root)
	must(t, err)
	hostile := []checkpoint.Entry{{Name: ".GIT", Mode: fs.ModeDir | 0o755, Object: tree.Root},
		{Name: ".git", Mode: fs.ModeDir | 0o755, Object: tree.Root}}
	data, err := checkpoint.EncodeDir(append(hostile, entries...))
	must(t, err)
	batch, err := store.Begin(t.Context())
	must(t, err)
	root, _, err := batch.Put(t.Context(), bytes.NewReader(data))
	must(t, err)
	other, dir := newLocal(t, nil)
	made, err := checkpoint.Write(t.Context(), store, root, other)
	if err != nil || made != 2 {
		t.Errorf("%d made, %v", made, err)
	}
	want := map[string]string{"a": "-rw-r--r-- 1", "d": "drwxr-xr-x "}
	if diff := gocmp.Diff(want, walked(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf(".git: %v", err)
	}
}

// BenchmarkO3_Round measures a round with a command in a repository of 2,000 files, with a tracker
// and without.
func BenchmarkO3_Round(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "tracked"}[with], func(b *testing.B) {
			local, err := env.NewLocal(b.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
			if err != nil {
				b.Fatal(err)
			}
			defer local.Close()
			for i := range 2000 {
				if err := local.WriteFile(b.Context(), fmt.Sprintf("dir%d/file%d.go", i%100, i),
					[]byte(strings.Repeat(fmt.Sprint(i, "\n"), 500)), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			store, err := checkpoint.OpenDir(b.TempDir(), checkpoint.DirOptions{})
			if err != nil {
				b.Fatal(err)
			}
			run := tool.Handler(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				_, err := env.Run(ctx, c.Env, env.Command{Script: "echo x >>dir1/file1.go"}, time.Minute)
				return tool.Result{}, err
			})
			if with {
				run = checkpoint.NewTracker(checkpoint.TrackerOptions{Env: local,
					Warn: func(err error) { b.Error(err) },
					Note: func(context.Context, string, json.RawMessage, string) error { return nil },
					Recorder: checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store,
						Owner: "test"})}).Middleware(run)
			}
			call := &tool.Call{ID: "c", Access: tool.Access{Effect: tool.Writes, Command: "x"}, Env: local}
			if _, err := run(b.Context(), call); err != nil { // the first recording is another benchmark's
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := run(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
