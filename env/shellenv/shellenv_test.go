package shellenv_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/shellenv"
	"github.com/attractor-go/attractor/internal/parallel"
	"github.com/attractor-go/attractor/internal/peer"
)

func TestMain(m *testing.M) {
	parallel.Tests(8)
	goleak.VerifyTestMain(m)
}

// more adds other shells and other systems' tools, if they are installed. It takes half a minute.
var more = flag.Bool("remote.more", false, "test with bash, mksh and busybox too")

// prefixes returns the remote systems of the tests: shells of this machine.
func prefixes(t *testing.T) map[string][]string {
	if runtime.GOOS == "windows" {
		t.Skip("not run: there is no POSIX shell here, and env.Local runs no commands")
	}
	prefixes := map[string][]string{
		"sh": {"/bin/sh", "-c"},
		// Like ssh: one text for the user's shell, none of our environment, and a local end that
		// stays until nothing holds the output open any more.
		"as by ssh": {"env", "-i", "PATH=" + os.Getenv("PATH"), "bash", "-o", "pipefail", "-c", `eval "$*" | cat`,
			"ssh"},
	}
	if *more {
		prefixes["bash"] = []string{"bash", "-c"}
		prefixes["mksh"] = []string{"mksh", "-c"}
		prefixes["bash without setsid"] = []string{"env", "-i", "PATH=" + linksTo(t, tools...), "sh", "-c"}
		if busybox, err := exec.LookPath("busybox"); err == nil {
			dir := t.TempDir()
			if out, err := exec.Command(busybox, "--install", "-s", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			prefixes["busybox and nothing else"] = []string{"env", "-i", "PATH=" + dir, "sh", "-c"}
		}
	}
	return prefixes
}

// tools holds the programs that doc.go lists and those that the suite's scripts need.
var tools = []string{"bash", "cat", "chmod", "cp", "env", "find", "ln", "ls", "mkdir", "mv", "readlink", "rm", "rmdir",
	"sed", "sleep", "stat",
	"uname", "wc", "mkfifo"}

// linksTo returns a directory with links to programs, and with bash as sh.
func linksTo(t *testing.T, programs ...string) string {
	dir := t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("bash", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, prefix []string, dir string) *shellenv.Env {
	t.Helper()
	for _, program := range []string{prefix[0], "bash"} {
		if slices.Contains(prefix, program) {
			peer.Need(t, program)
		}
	}
	e, err := shellenv.New(t.Context(), prefix, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

func TestD1_RemoteEnvPassesTheSuite(t *testing.T) {
	for name, prefix := range prefixes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envtest.SuiteWith(t, func(t *testing.T) env.Environment { return open(t, prefix, t.TempDir()) },
				envtest.Options{
					Parallel: true,
					Lacks: map[envtest.Feature]string{
						envtest.Signals: "a shell says 137 of a command that was killed and of one that exits " +
							"with 137",
						envtest.Sessions: "Kill signals the process group",
					}})
		})
	}
}

func TestD1_RemoteEnvNeedsItsDirectory(t *testing.T) {
	prefix := prefixes(t)["sh"]
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), "relative"} {
		if e, err := shellenv.New(t.Context(), prefix, dir); err == nil {
			t.Errorf("%s: it was made: %v", dir, e.Close())
		}
	}
	if e, err := shellenv.New(t.Context(), []string{"no-such-command-here"}, t.TempDir()); err == nil {
		t.Error("without a way there it was made", e.Close())
	}
}

// To the remote side, a connection that breaks while a file is written looks like the end of the
// data.
func TestD1_RemoteEnvWritesAllOrNothing(t *testing.T) {
	prefixes(t) // or skip
	dir := t.TempDir()
	broken := filepath.Join(t.TempDir(), "broken")
	e := open(t, []string{"/bin/sh", "-c", `if [ -e "$0" ]; then head -c 5 | sh -c "$1"; else exec sh -c "$1"; fi`,
		broken}, dir)
	if err := e.WriteFile(t.Context(), "f", []byte("the old content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "new"} {
		if err := e.WriteFile(t.Context(), name, []byte("something else"), 0o644); err == nil {
			t.Errorf("half of %s was written", name)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != "the old content" {
		t.Errorf("the content is %q, %v", data, err)
	}
	if list, err := e.ReadDir(t.Context(), "."); err != nil || len(list) != 1 {
		t.Errorf("there is %+v, %v", list, err)
	}
}

// A command whose connection breaks has no exit, because it may still run.
func TestD1_RemoteEnvSaysThatTheConnectionBroke(t *testing.T) {
	prefixes(t) // or skip
	e := open(t, []string{"/bin/sh", "-c",
		`case $1 in *launched*) sh -c "$1" | head -n 2 ;; *) exec sh -c "$1" ;; esac`, "sh"}, t.TempDir())
	var out capture.Buffer
	p, err := e.Start(t.Context(), env.Command{Script: "echo launched; read x; echo more", Stdin: true,
		Output: out.Write})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(t.Context()); err == nil {
		t.Errorf("it ended with %+v", exit)
	}
	if out.Text() != "launched\n" {
		t.Errorf("output %q", out.Text())
	}
}

// Output that resembles the mark is not taken for it, and is passed on.
func TestD1_RemoteEnvHandsOnWhatLooksLikeTheMark(t *testing.T) {
	e := open(t, prefixes(t)["sh"], t.TempDir())
	var out capture.Buffer
	result, err := env.Run(t.Context(), e,
		env.Command{Script: `printf 'a\036b\036\036'; printf '\036' >&2; printf 'x'; exit 3`, Output: out.Write}, 0)
	if err != nil || result.Code != 3 || out.Count(env.Stdout) != 6 || out.Count(env.Stderr) != 1 {
		t.Errorf("%+v, %v, %q", result, err, out.Text())
	}
	// An exit code that resembles a kill is not taken for one.
	if result, err := env.Run(t.Context(), e, env.Command{Script: "exit 137"}, 0); err != nil || result.Code != 137 ||
		result.Signal != "" {
		t.Errorf("%+v, %v", result, err)
	}
}

// Processes that a command leaves running are named, and end with the environment.
func TestC7_RemoteEnvNamesWhatIsLeft(t *testing.T) {
	e := open(t, prefixes(t)["sh"], t.TempDir())
	result, err := env.Run(t.Context(), e, env.Command{Script: "sleep 1000 & exit 2"}, 0)
	if err != nil || result.Code != 2 || len(result.Left) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	group := strings.TrimPrefix(result.Left[0], "process group ")
	if out, err := exec.Command("ps", "-A", "-o", "pgid=,stat=,args=").Output(); err != nil {
		peer.Missing(t, "not looked at what is left: %v", err)
	} else if left := regexp.MustCompile(`(?m)^ *` + group + ` +[^Z].*$`).FindString(string(out)); left != "" {
		t.Errorf("it is still there: %s", left)
	}
	if _, err := e.Start(t.Context(), env.Command{Script: "true"}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
}
