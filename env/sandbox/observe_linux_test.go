package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// readingCommands only read. They are run in a repository with a home directory of its own.
func readingCommands() []string {
	return []string{
		"ls", "ls -la --time-style=+%s", "ls ~", "ls -R docs", "ls /tmp | grep -c of-an-earlier-command", "cat a.txt",
		`cat "$EARLIER"`, "head -n 2 a.txt", "tail -c 5 a.txt",
		"wc -l a.txt docs/*", "grep -rn two .", "grep -c . a.txt", "grep -v one a.txt | sort",
		"find . -name '*.txt' | sort", "find docs -size -2k -type f | sort", "sort -r a.txt", "sort a.txt | uniq -c",
		"cut -c 1-2 a.txt", "tr a-z A-Z <a.txt", "sed -n 2p a.txt", "awk 'NR==2{print $1}' a.txt",
		"diff a.txt docs/b.txt", "cmp a.txt docs/b.txt", "stat -c '%s %a' a.txt", "du -b a.txt",
		"id", "id -u", "whoami", "uname -sm", "hostname", "pwd", "printenv HOME", "echo $((1 + 2))",
		"test -f a.txt && echo there", "[ -d docs ] && echo a directory", "basename /a/b", "dirname /a/b",
		"realpath a.txt", "readlink link", "md5sum a.txt", "sha256sum a.txt | cut -c 1-8", "od -c a.txt | head -2",
		"base64 a.txt", "nl a.txt", "tac a.txt", "rev a.txt", "fold -w 2 a.txt",
		"comm <(sort a.txt) <(sort docs/b.txt)",
		"paste a.txt docs/b.txt", "expr 2 + 2", "seq 3", "git status --short", "git log --format=%s", "git diff",
		"git diff --stat HEAD", "git show --format=%s", "git branch", "git blame -s a.txt", "git ls-files",
		"git grep -n two", "git rev-parse --show-toplevel", "git check-ignore of-the-user", "command -v sh",
		"head -1 /etc/passwd", "cat /proc/sys/kernel/ostype", "df -P / | tail -1 | cut -d ' ' -f 1",
		"for f in *.txt; do echo $f; done",
		"cat <<< text", "timeout 9 cat a.txt", "cat a.txt >/dev/stdout", "cat missing 2>/dev/null || echo none",
		"cat <(echo from a process)", "go list ./...", "GOFLAGS=-count=1 go version", "x=$(cat a.txt); echo ${#x}",
	}
}

// What commands that only read print is the same at the level Observe as outside, and they cost
// about the same.
func TestU14_ReadingCommandsPrintTheSame(t *testing.T) {
	peer.Need(t, "git")
	peer.Need(t, "go")
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "project")
	for name, text := range map[string]string{"project/a.txt": "one\ntwo\ntwo\n", "project/docs/b.txt": "one\nthree\n",
		"project/go.mod": "module example.com/m\n", "project/m.go": "package m\n",
		".config/git/ignore": "of-the-user\n", "in-home": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME=", "TMPDIR=")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.txt", "docs"},
		{"-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nchanged\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	earlier, err := os.CreateTemp("", "of-an-earlier-command")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(earlier.Name()) }) // it is empty
	environ = append(environ, "EARLIER="+earlier.Name())
	outside := localWith(t, dir, environ, nil)
	for _, abi := range []int{0, 1, 5} { // 0 stands for the kernel's
		inside := localWith(t, dir, environ, observed(t, dir, sandbox.Options{Environ: environ}.Capped(abi)).Launch)
		for _, script := range readingCommands() {
			want, wantCode := ran(t, outside, script)
			if got, code := ran(t, inside, script); got != want || code != wantCode {
				t.Errorf("%s\noutside: exit code %d\n%s\ninside, version %d: exit code %d\n%s", script, wantCode, want,
					abi, code, got)
			}
		}
	}
}

func observed(t *testing.T, dir string, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	o.Level = sandbox.Observe
	box, err := sandbox.New(dir, o)
	if errors.Is(err, errors.ErrUnsupported) {
		peer.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func localWith(t *testing.T, dir string, environ []string,
	launch func(context.Context, env.Launch) (env.Launch, error)) *env.Local {
	t.Helper()
	l, err := env.NewLocal(dir, env.LocalOptions{Environ: environ, Launch: launch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func ran(t *testing.T, e env.Environment, script string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	result, err := env.Run(t.Context(), e, env.Command{Script: script, Output: func(_ int, p []byte) { out.Write(p) }},
		time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(out.String(), "\n"), result.Code
}

// What a command can do to others besides changing files is refused.
func TestU14_SystemCalls(t *testing.T) {
	p := needPrograms(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	if err := os.Symlink(p.attack, filepath.Join(dir, "attack")); err != nil {
		t.Fatal(err)
	}
	outside := localWith(t, dir, os.Environ(), nil)
	for _, abi := range []int{0, 1, 5} {
		inside := localWith(t, dir, os.Environ(), observed(t, dir, sandbox.Options{}.Capped(abi)).Launch)
		for _, call := range []string{"neither", "lease", "exclusive"} {
			if out, code := ran(t, outside, "./attack "+call+" f"); code != 0 {
				t.Errorf("%s outside: %s", call, out)
			}
			if out, code := ran(t, inside, "./attack "+call+" f"); code == 0 {
				t.Errorf("%s, version %d: %s", call, abi, out)
			}
		}
	}
}

// A covered file has no other name beside it, nor is it readable when it is made after the command
// has started.
func TestU14_CoveredFiles(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "project/notes"), "notes")
	write(t, filepath.Join(home, "project/.env"), "the key")
	write(t, filepath.Join(home, ".config/other"), "other")
	write(t, filepath.Join(home, "dotfiles/key"), "the key")
	write(t, filepath.Join(home, ".aws/config"), "x")
	if err := os.Symlink("../dotfiles/key", filepath.Join(home, ".aws/credentials")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(home, "project/.env"), filepath.Join(home, "project/env.txt")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "project")
	box := observed(t, dir, sandbox.Options{Covered: func() []string {
		return []string{filepath.Join(dir, ".env"), filepath.Join(home, ".config/tool/token"),
			filepath.Join(home, ".netrc"), filepath.Join(home, ".aws")}
	}})
	inside := localWith(t, dir, os.Environ(), box.Launch)
	for range 2 { // with a new ruleset, and again
		out, _ := ran(t, inside,
			"cat notes ../.config/other; cat .env env.txt ../.aws/credentials ../dotfiles/key 2>/dev/null; ls -A")
		if out != "notesother.env\nenv.txt\nnotes" {
			t.Errorf("printed %q", out)
		}
	}
	write(t, filepath.Join(dir, "new"), "new")
	if out, _ := ran(t, inside, "cat new"); out != "new" {
		t.Errorf("a file that was made between commands: %q", out)
	}
	var later sync.WaitGroup
	later.Go(func() {
		out, code := ran(t, inside,
			`until [ -e ../.netrc ] && [ -e ../.config/tool/token ]; do sleep 0.01; done; cat ../.netrc ../.config/tool/token`)
		if code == 0 || strings.Contains(out, "the key") {
			t.Errorf("what was made later can be read: %s", out)
		}
	})
	write(t, filepath.Join(home, ".config/tool/token"), "the key")
	write(t, filepath.Join(home, ".netrc"), "the key")
	later.Wait()
}
