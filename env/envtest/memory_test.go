package envtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/internal/seed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestD1_MemoryPassesTheSuite(t *testing.T) {
	envtest.SuiteWith(t, func(t *testing.T) env.Environment { return &envtest.Memory{} }, envtest.Options{
		Lacks: map[envtest.Feature]string{envtest.Commands: "it was given none",
			envtest.Links: "it has files and directories only",
			envtest.FIFOs: "it has files and directories only"}})
}

// kind returns the kind of an error, for comparison.
func kind(err error) string {
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrExist} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return "no error"
}

// The same operations have the same outcome in a Memory and a Local.
func TestD1_MemoryIsLikeLocal(t *testing.T) {
	elements := rapid.SampledFrom([]string{"a", "b", "c", "a", "b", "..", ".", ""})
	names := rapid.Custom(func(t *rapid.T) string {
		name := strings.Join(rapid.SliceOfN(elements, 1, 4).Draw(t, "elements"), "/")
		return rapid.SampledFrom([]string{"", "", "", "", "ABS/", "ABS/../", "~/", "/", "ABS/../work/",
			"../work/"}).Draw(t, "before") + name
	})
	seed.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp("", "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(base)
		dir := base + "/work"
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup}) // no commands are run
		if err != nil {
			rt.Fatal(err)
		}
		defer local.Close()
		memory := &envtest.Memory{}
		for range 12 {
			name := names.Draw(rt, "name")
			op := rapid.SampledFrom([]string{"write", "write", "write", "remove", "remove", "open", "stat",
				"list"}).Draw(rt, "op")
			data := rapid.StringN(0, 3, -1).Draw(rt, "data")
			perm := rapid.SampledFrom([]fs.FileMode{0o644, 0o755, 0o600}).Draw(rt, "perm")
			want := outcome(local, op, strings.ReplaceAll(name, "ABS", dir), data, perm)
			got := outcome(memory, op, strings.ReplaceAll(name, "ABS", envtest.MemoryDir), data, perm)
			if got != want {
				rt.Fatalf("%s %q: %s, and with Local %s", op, name, got, want)
			}
		}
	})
}

// Found by the test above: with a slash after the dot, Local removed the directory.
func TestD1_RemoveRefusesATrailingDot(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	for _, e := range []env.Environment{local, &envtest.Memory{}} {
		if err := errors.Join(e.WriteFile(t.Context(), "a/f", nil, 0o644), e.Remove(t.Context(), "a/f")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a/.", "a/./"} {
			if err := e.Remove(t.Context(), name); err == nil {
				t.Errorf("%T removed %q", e, name)
			}
		}
	}
}

func outcome(e env.Environment, op, name, data string, perm fs.FileMode) string {
	ctx := context.Background()
	switch op {
	case "write":
		return kind(e.WriteFile(ctx, name, []byte(data), perm))
	case "remove":
		return kind(e.Remove(ctx, name))
	case "stat":
		info, err := e.Stat(ctx, name)
		return kind(err) + described(info)
	case "list":
		list, err := e.ReadDir(ctx, name)
		text := kind(err)
		for _, info := range list {
			text += described(info)
		}
		return text
	}
	f, err := e.Open(ctx, name)
	if err != nil {
		return kind(err)
	}
	content, err := io.ReadAll(f)
	return string(content) + kind(errors.Join(err, f.Close()))
}

func described(i env.Info) string {
	if i.IsDir() {
		i.Size = 0
	}
	return fmt.Sprintf(", %s %v %d", i.Name, i.Mode, i.Size)
}

func TestD1_MemoryFiles(t *testing.T) {
	m := envtest.NewMemory(map[string]string{"a": "1", "dir/b": "2"})
	began := time.Now()
	if err := m.WriteFile(t.Context(), "dir/c", []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "dir/b": "2", "dir/c": "3"}, m.Files()); diff != "" {
		t.Error(diff)
	}
	for name, changed := range map[string]bool{"a": false, "dir/c": true, "dir": true} {
		if info, err := m.Stat(t.Context(), name); err != nil || info.ModTime.Before(began) == changed {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("NewMemory accepted a name that leads outside")
		}
	}()
	envtest.NewMemory(map[string]string{"../x": ""})
}

// In a bubble a kill takes the grace time, and a command that does not obey it is abandoned.
func TestD4_MemoryInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := envtest.NewMemory(map[string]string{"dir/f": ""})
		m.Commands = func(ctx context.Context, cmd env.Command) env.Exit {
			cmd.Output(env.Stdout, []byte(cmd.Script+" in "+cmd.Dir))
			switch cmd.Script {
			case "fail":
				return env.Exit{Code: 7}
			case "obey":
				<-ctx.Done()
			case "deaf":
				<-release
				cmd.Output(env.Stdout, []byte("late"))
			case "leave":
				go func() {
					<-ctx.Done()
					close(release)
				}()
				return env.Exit{Code: 1, Left: []string{"a server"}}
			}
			return env.Exit{}
		}
		outputs := map[string]*capture.Buffer{}
		var left env.Process
		for script, want := range map[string]env.Result{
			"fail":  {Exit: env.Exit{Code: 7}},
			"obey":  {Exit: env.Exit{Code: -1, Signal: "SIGTERM", Duration: 10 * time.Second}, TimedOut: true},
			"deaf":  {Exit: env.Exit{Code: -1, Signal: "SIGKILL", Duration: 12 * time.Second}, TimedOut: true},
			"leave": {Exit: env.Exit{Code: 1, Left: []string{"a server"}}},
		} {
			outputs[script] = new(capture.Buffer)
			got, err := env.Run(t.Context(), m,
				env.Command{Script: script, Dir: "dir", Output: outputs[script].Write}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if script == "leave" {
				left = got.Process
			}
			want.Timeout, got.Process = env.DefaultTimeout, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", script, diff)
			}
		}
		if err := left.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait() // the deaf command prints and ends
		for script, out := range outputs {
			if out.Text() != script+" in /work/dir" {
				t.Errorf("%s: output %q", script, out.Text())
			}
		}
	})
}

// Listing a directory during writes is safe: the race detector would report it.
func TestD1_MemoryConcurrentUse(t *testing.T) {
	m := &envtest.Memory{}
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			name := fmt.Sprint("dir/", i)
			for range 200 {
				err := m.WriteFile(context.Background(), name, []byte(name), 0o644)
				list, listErr := m.ReadDir(context.Background(), "dir")
				if err = errors.Join(err, listErr); err != nil || len(list) == 0 || m.Files()[name] != name {
					t.Errorf("%v, %v", list, err)
				}
				if err := m.Remove(context.Background(), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}
