//go:build unix

package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// editor is the variable that makes TestI6_Editor one of the processes that edit a file: its
// directory and its name.
const editor = "ATTRACTOR_TEST_EDITOR"

// editsEach is how many changes each of the two processes makes.
const editsEach = 100

// TestI6_Editor is not a test by itself: TestI6_TwoProcessesLoseNoEdit runs it as a process.
func TestI6_Editor(t *testing.T) {
	given := os.Getenv(editor)
	if given == "" {
		t.Skip("not run: it is the helper of TestI6_TwoProcessesLoseNoEdit")
	}
	dir, name, _ := strings.Cut(given, "|")
	e, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := &fixture{TB: t, dir: dir, env: e}
	fmt.Println("ready")
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil { // until both are ready
		t.Fatal(err)
	}
	for i := range editsEach {
		line := fmt.Sprintf("%s %d", name, i)
		if i%2 == 0 {
			b.ok(EditFile(), object{"file_path": "list.txt", "old_string": "the end\n",
				"new_string": line + "\nthe end\n"})
		} else {
			b.ok(ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: list.txt\n@@\n+" + line +
				"\n the end\n*** End Patch"})
		}
	}
}

// Two processes make 200 changes to one file, and none is lost.
func TestI6_TwoProcessesLoseNoEdit(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list.txt")
	if err := os.WriteFile(list, []byte("the end\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var ready, done sync.WaitGroup
	ready.Add(2)
	var start []io.Writer
	for _, name := range []string{"one", "two"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestI6_Editor$", "-test.v")
		cmd.Env = append(os.Environ(), editor+"="+dir+"|"+name)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out := &readyWriter{ready: sync.OnceFunc(ready.Done)}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		start = append(start, stdin)
		done.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out.text.String())
			}
			out.ready() // in case it never was
		})
	}
	ready.Wait()
	for _, stdin := range start {
		if _, err := stdin.Write([]byte("!")); err != nil {
			t.Error(err)
		}
	}
	done.Wait()
	content, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		for i := range editsEach {
			if n := strings.Count("\n"+string(content), fmt.Sprintf("\n%s %d\n", name, i)); n != 1 {
				t.Errorf("change %d of process %s is in the file %d times", i, name, n)
			}
		}
	}
	if n := strings.Count(string(content), "\n"); n != 2*editsEach+1 {
		t.Errorf("the file has %d lines", n)
	}
}

// readyWriter is the output of a process that says when it is ready.
type readyWriter struct {
	text  strings.Builder
	ready func()
}

func (w *readyWriter) Write(p []byte) (int, error) {
	w.text.Write(p)
	if strings.Contains(w.text.String(), "ready") {
		w.ready()
	}
	return len(p), nil
}

// racingEnv is an environment in which somebody writes a file between a tool's reading and its
// writing.
type racingEnv struct {
	*env.Local
	meddle func()
}

func (m *racingEnv) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	m.meddle()
	return m.Local.Replace(ctx, name, was, data, perm)
}

// plainRacingEnv is a racingEnv with no optional methods, as a host may write one. The other write
// comes after a file was read.
type plainRacingEnv struct {
	env.Environment
	meddle func()
}

func (m *plainRacingEnv) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := m.Environment.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	m.meddle()
	return io.NopCloser(strings.NewReader(string(data))), nil
}

// If somebody writes between a tool's reading and its writing, that change stays. The tool's change
// is made too, or reported as failed.
func TestI6_OutsideWriterBetweenReadAndWrite(t *testing.T) {
	const before, theirs = "a\nb\nc\n", "a\nb\nC, theirs\n"
	edit := object{"file_path": "f", "old_string": "a\n", "new_string": "A, ours\n"}
	both := object{"patch": "*** Begin Patch\n*** Update File: other\n-x\n+y\n*** Update File: f\n-a\n+A, ours\n b\n" +
		"*** End Patch"}
	for _, tt := range []struct {
		tool tool.Tool
		args object
	}{{EditFile(), edit}, {ApplyPatch(), both}} {
		for kind, wrap := range map[string]func(b *fixture, meddle func()) env.Environment{
			"a replacer": func(b *fixture, meddle func()) env.Environment {
				return &racingEnv{b.env.(*env.Local), meddle}
			},
			"plain": func(b *fixture, meddle func()) env.Environment { return &plainRacingEnv{b.env, meddle} },
		} {
			t.Run(tt.tool.Name+"/"+kind, func(t *testing.T) {
				b := newFixture(t)
				b.put("f", before)
				b.put("other", "x\n")
				b.env = wrap(b, sync.OnceFunc(func() { b.put("f", theirs) }))
				b.ok(tt.tool, tt.args)
				if got := b.get("f"); got != "A, ours\nb\nC, theirs\n" {
					t.Errorf("the file is %q", got)
				}
				if got := b.get("other"); tt.tool.Name == "apply_patch" && got != "y\n" {
					t.Errorf("the other file is %q", got)
				}
			})
		}
	}
}

// A change that no longer fits after somebody else's is an error, and the other content stays. A
// patch then changes nothing.
func TestI6_DecidedAgainAndRefused(t *testing.T) {
	patch := object{"patch": "*** Begin Patch\n*** Update File: other\n-x\n+y\n*** Update File: f\n-a\n+A\n*** " +
		"End Patch"}
	for _, tt := range []struct {
		tool tool.Tool
		args object
	}{{EditFile(), object{"file_path": "f", "old_string": "a\n", "new_string": "A\n"}}, {ApplyPatch(), patch}} {
		b := newFixture(t)
		b.put("f", "a\n")
		b.put("other", "x\n")
		writes := 0
		b.env = &racingEnv{b.env.(*env.Local), func() {
			if writes++; writes <= 2 {
				b.put("f", "theirs\n")
			}
		}}
		b.fails(tt.tool, tt.args)
		if f, other := b.get("f"), b.get("other"); f != "theirs\n" || other != "x\n" {
			t.Errorf("%s left %q and %q", tt.tool.Name, f, other)
		}
	}
}

// Somebody who never stops writing does not block a call forever.
func TestI6_AFileThatNeverRests(t *testing.T) {
	for _, tt := range []struct {
		tool tool.Tool
		args object
	}{
		{EditFile(), object{"file_path": "f", "old_string": "a\n", "new_string": "A\n"}},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n-a\n+A\n*** End Patch"}},
		{WriteFile(), object{"file_path": "f", "content": "A\n"}},
	} {
		b := newFixture(t)
		b.put("f", "a\n")
		writes := 0
		b.env = &racingEnv{b.env.(*env.Local), func() {
			writes++
			b.put("f", fmt.Sprintf("a\n%d\n", writes))
		}}
		b.fails(tt.tool, tt.args, "f keeps being changed by somebody else; nothing was changed")
		if got := b.get("f"); got != fmt.Sprintf("a\n%d\n", writes) {
			t.Errorf("%s left %q", tt.tool.Name, got)
		}
	}
}

// A new file does not replace one that somebody created meanwhile.
func TestI6_TwoMakeOneFile(t *testing.T) {
	b := newFixture(t)
	b.env = &racingEnv{b.env.(*env.Local), sync.OnceFunc(func() { b.put("f", "theirs\n") })}
	out := b.runCall(t.Context(), WriteFile(), object{"file_path": "f", "content": "ours\n"},
		tool.Call{Session: &filesSession{}})
	if got := b.get("f"); !out.IsError || got != "theirs\n" {
		t.Errorf("%q, and the file is %q", out.Model.Text(), got)
	}
}
