package envtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

func print(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		panic(err)
	}
}

// exits returns a command that exits with a code.
func exits(code int) func(context.Context, *envtest.MemoryCommand) env.Exit {
	return func(context.Context, *envtest.MemoryCommand) env.Exit { return env.Exit{Code: code} }
}

// prints returns a command that writes a text to its standard output.
func prints(text string) func(context.Context, *envtest.MemoryCommand) env.Exit {
	return func(_ context.Context, c *envtest.MemoryCommand) env.Exit {
		print(c.Stdout, text)
		return env.Exit{}
	}
}

// hangs returns a command that prints a text and waits to be killed.
func hangs(text string) func(context.Context, *envtest.MemoryCommand) env.Exit {
	return func(ctx context.Context, c *envtest.MemoryCommand) env.Exit {
		print(c.Stdout, text)
		<-ctx.Done()
		return env.Exit{}
	}
}

// copies returns a command that copies its input to its output.
func copies(before, after string) func(context.Context, *envtest.MemoryCommand) env.Exit {
	return func(_ context.Context, c *envtest.MemoryCommand) env.Exit {
		print(c.Stdout, before)
		if _, err := io.Copy(c.Stdout, c.Stdin); err != nil {
			return env.Exit{Code: 1}
		}
		print(c.Stdout, after)
		return env.Exit{}
	}
}

// readsAndExits returns a command that waits for a line or the end of its input.
func readsAndExits(code int) func(context.Context, *envtest.MemoryCommand) env.Exit {
	return func(_ context.Context, c *envtest.MemoryCommand) env.Exit {
		if _, err := bufio.NewReader(c.Stdin).ReadString('\n'); err != nil && err != io.EOF {
			return env.Exit{Code: 1}
		}
		return env.Exit{Code: code}
	}
}

// suiteScripts returns functions that do what the suite's scripts do.
func suiteScripts(release <-chan struct{}) envtest.Scripts {
	type command = envtest.MemoryCommand
	scripts := envtest.Scripts{
		"true":     exits(0),
		"exit 4":   exits(4),
		"exit 7":   exits(7),
		"exit 255": exits(255),
		"chmod 0 f secret; if cat f; then chmod 755 secret; fi": exits(0),
		"kill -s KILL $$": func(context.Context, *command) env.Exit { return env.Exit{Code: -1, Signal: "SIGKILL"} },
		"a='one  two'\nprintf '%s\\n' \"$a\" \"it's\" \\\\ # a comment\ncat <<'END'\n$HOME `id` \u00fc\nEND\n": prints(
			"one  two\nit's\n\\\n$HOME `id` \u00fc\n"),
		"echo out; echo err >&2": func(_ context.Context, c *command) env.Exit {
			print(c.Stdout, "out\n")
			print(c.Stderr, "err\n")
			return env.Exit{}
		},
		"echo out; echo err >&2; exit 3": func(_ context.Context, c *command) env.Exit {
			print(c.Stdout, "out\n")
			print(c.Stderr, "err\n")
			return env.Exit{Code: 3}
		},
		`echo 1; read x; echo 2 >&2; read x; echo 3; read x; echo 4 >&2`: func(_ context.Context, c *command) env.Exit {
			lines := bufio.NewScanner(c.Stdin)
			for i, w := range []io.Writer{c.Stdout, c.Stderr, c.Stdout, c.Stderr} {
				if i > 0 && !lines.Scan() {
					return env.Exit{Code: 1}
				}
				print(w, fmt.Sprintln(i+1))
			}
			return env.Exit{}
		},
		"i=0; while [ $i -lt 2000 ]; do echo out; echo err >&2; i=$((i+1)); done": func(_ context.Context,
			c *command) env.Exit {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 2000 {
					print(c.Stderr, "err\n")
				}
			}()
			for range 2000 {
				print(c.Stdout, "out\n")
			}
			<-done
			return env.Exit{}
		},
		"i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done": func(_ context.Context, c *command) env.Exit {
			for i := range 5000 {
				print(c.Stdout, fmt.Sprintln("line", i))
			}
			return env.Exit{}
		},
	}
	maps.Copy(scripts, waitingScripts(release))
	return scripts
}

// waitingScripts returns those that wait for something.
func waitingScripts(release <-chan struct{}) envtest.Scripts {
	type command = envtest.MemoryCommand
	return envtest.Scripts{
		"cat":             copies("", ""),
		"cat; echo end":   copies("", "end\n"),
		"echo ready; cat": copies("ready\n", ""),
		"cat f": func(ctx context.Context, c *command) env.Exit {
			f, err := c.Files.Open(ctx, "f")
			if err != nil {
				return env.Exit{Code: 1}
			}
			_, err = io.Copy(c.Stdout, f)
			if err = errors.Join(err, f.Close()); err != nil {
				return env.Exit{Code: 1}
			}
			return env.Exit{}
		},
		`printf '%s|' "$ENVTEST_ODD" "$ENVTEST_EMPTY" "${ENVTEST_EMPTY-unset}"`: func(_ context.Context,
			c *command) env.Exit {
			for _, v := range c.Env {
				_, value, _ := strings.Cut(v, "=")
				print(c.Stdout, value+"|")
			}
			print(c.Stdout, "|")
			return env.Exit{}
		},
		"read x; exit 3": readsAndExits(3),
		"while read x; do echo $x; done; exit 5": func(ctx context.Context, c *command) env.Exit {
			copies("", "")(ctx, c)
			return env.Exit{Code: 5}
		},
		"echo partial; sleep 1000": hangs("partial\n"),
		"echo ready; sleep 1000":   hangs("ready\n"),
		"trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done": func(ctx context.Context,
			c *command) env.Exit {
			hangs("ready\n")(ctx, c)
			print(c.Stdout, "asked\n")
			return env.Exit{Code: 3}
		},
		"trap '' TERM; echo ready; sleep 1000; echo slept": func(_ context.Context, c *command) env.Exit {
			print(c.Stdout, "ready\n")
			<-release
			return env.Exit{}
		},
		"while :; do echo flood; done": func(ctx context.Context, c *command) env.Exit {
			for ctx.Err() == nil {
				print(c.Stdout, "flood\n")
			}
			return env.Exit{}
		},
	}
}

func TestD1_MemoryPassesTheSuite(t *testing.T) {
	const functions = "its commands are functions"
	envtest.SuiteWith(t, func(t *testing.T) env.Environment {
		release := make(chan struct{})
		m := &envtest.Memory{Commands: suiteScripts(release).Run, Grace: time.Second}
		t.Cleanup(func() {
			close(release)
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		return m
	}, envtest.Options{Lacks: map[envtest.Feature]string{
		envtest.Links: "it has files and directories only", envtest.FIFOs: "it has files and directories only",
		envtest.Trees: functions, envtest.Terminals: functions,
	}})
}

func TestD1_MemoryWithoutCommandsPassesTheSuite(t *testing.T) {
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
	var now time.Time
	m := envtest.NewMemory(map[string]string{"a": "1", "dir/b": "2"})
	m.Now = func() time.Time { return now }
	now = time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	if err := m.WriteFile(t.Context(), "dir/c", []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "dir/b": "2", "dir/c": "3"}, m.Files()); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"dir/c", "dir"} {
		if info, err := m.Stat(t.Context(), name); err != nil || !info.ModTime.Equal(now) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if info, err := m.Stat(t.Context(), "a"); err != nil || info.ModTime.Equal(now) {
		t.Errorf("a: %+v, %v", info, err)
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
		var late error
		m := &envtest.Memory{Commands: envtest.Scripts{
			"obey": hangs(""),
			"deaf": func(_ context.Context, c *envtest.MemoryCommand) env.Exit {
				<-release
				_, late = c.Stdout.Write([]byte("late"))
				return env.Exit{Code: 7}
			},
			"leave": func(ctx context.Context, _ *envtest.MemoryCommand) env.Exit {
				go func() {
					<-ctx.Done()
					close(release)
				}()
				return env.Exit{Code: 1, Left: []string{"a server"}}
			},
			"read": readsAndExits(0),
		}.Run}
		for _, c := range []struct {
			script string
			want   env.Result
		}{
			{"obey", env.Result{Exit: env.Exit{Code: -1, Signal: "SIGTERM", Duration: 10 * time.Second},
				TimedOut: true}},
			{"read", env.Result{Exit: env.Exit{Code: 1, Duration: 10 * time.Second}, TimedOut: true}},
			{"deaf", env.Result{Exit: env.Exit{Code: -1, Signal: "SIGKILL", Duration: 12 * time.Second},
				TimedOut: true}},
			{"leave", env.Result{Exit: env.Exit{Code: 1, Left: []string{"a server"}}}},
			{"nothing", env.Result{Exit: env.Exit{Code: 127}}},
		} {
			var out capture.Buffer
			got, err := env.Run(t.Context(), m, env.Command{Script: c.script, Stdin: true, Output: out.Write}, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Timeout, got.Process = env.DefaultTimeout, nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", c.script, diff)
			}
			if c.script == "nothing" != (out.Count(env.Stderr) > 0) || out.Count(env.Stdout) > 0 {
				t.Errorf("%s: output %q", c.script, out.Text())
			}
		}
		if err := m.Close(); err != nil { // ends what was left
			t.Error(err)
		}
		synctest.Wait()
		if !errors.Is(late, fs.ErrClosed) {
			t.Errorf("output after the end: %v", late)
		}
		if _, err := m.Start(t.Context(), env.Command{Script: "obey"}); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("Start after Close: %v", err)
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
