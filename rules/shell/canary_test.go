//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/rules/shell"
)

// canaryShells lists the shells that run the random scripts. Environments use bash, or sh, which
// may be any of them.
var canaryShells = [][]string{{"bash"}, {"dash"}, {"bash", "--posix"}, {"mksh"}, {"busybox", "sh"}}

// TestL2_NothingRunsUnasked builds random scripts from harmless and harmful pieces, runs them in
// real shells in which the harmful piece leaves a mark, and checks that no script which leaves the
// mark is taken for reading.
func TestL2_NothingRunsUnasked(t *testing.T) {
	t.Parallel()
	for _, sh := range canaryShells {
		peer.Need(t, sh[0])
	}
	p := newPlace(t)
	marked, allowed := 0, 0
	seed.Check(t, func(t *rapid.T) {
		script := drawScript(t, rapid.IntRange(0, 2).Draw(t, "depth"))
		_, why := p.judge(script)
		if why != "" {
			if rapid.IntRange(0, 30).Draw(t, "run") == 0 && p.runsCanary(canaryShells[0], script) {
				marked++
			}
			return
		}
		allowed++
		for _, sh := range canaryShells {
			if p.runsCanary(sh, script) {
				t.Fatalf("%v runs the canary in %q", sh, script)
			}
		}
	})
	t.Logf("%d scripts were allowed; %d of the others are known to run the canary", allowed, marked)
	if allowed == 0 {
		t.Error("the scripts show nothing: none is allowed")
	}
}

// runsCanary reports whether a shell that runs a script starts one of the programs that leave a
// mark, or writes their files.
func (p *place) runsCanary(sh []string, script string) bool {
	p.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(p.dir), "canary")
	if err != nil {
		p.Fatal(err)
	}
	mark := filepath.Join(dir, "mark")
	for _, name := range []string{"canary", "in/canary", "[[", "-f"} {
		file := filepath.Join(dir, "work", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n: > '"+mark+"'\n"), 0o755); err != nil {
			p.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh[0], slices.Concat(sh[1:], []string{"-c", script})...)
	cmd.Dir = filepath.Join(dir, "work")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C.UTF-8"}
	cmd.Stdout = new(bytes.Buffer) // so that Run waits for what the script leaves running
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // random scripts fail in many ways
	_, err = os.Stat(mark)
	written, _ := filepath.Glob(filepath.Join(dir, "work", "*written*"))
	p.clear(dir, cmd.Process)
	return err == nil || len(written) > 0
}

// clear ends what a script has left running with its output closed, and removes its directory.
func (p *place) clear(dir string, process *os.Process) {
	p.Helper()
	var err error
	for range 1000 { // a process may still write a file while it dies
		if process != nil {
			_ = syscall.Kill(-process.Pid, syscall.SIGKILL) // usually nothing is left
		}
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	p.Error(err)
}

// drawScript returns a random script.
func drawScript(t *rapid.T, depth int) string {
	n := rapid.IntRange(1, 3).Draw(t, "statements")
	var b strings.Builder
	for range n {
		b.WriteString(drawStatement(t, depth))
		b.WriteString(rapid.SampledFrom([]string{"; ", "\n", " && ", " || ", " | ", " & ", "\\\n", " # ", " ;\n", "",
			" |& ", "&&\n"}).Draw(t, "operator"))
	}
	return b.String() + "true"
}

// drawStatement returns a random statement around commands.
func drawStatement(t *rapid.T, depth int) string {
	if depth == 0 {
		return drawCommand(t)
	}
	inner := func() string { return drawScript(t, depth-1) }
	switch rapid.IntRange(0, 24).Draw(t, "form") {
	case 0:
		return "{ " + inner() + "; }"
	case 1:
		return "(" + inner() + ")"
	case 2:
		return "if " + inner() + "; then " + inner() + "; fi"
	case 3:
		return "for i in a b; do " + inner() + "; done"
	case 4:
		return "case a in a) " + inner() + ";; esac"
	case 5:
		return "echo $(" + inner() + "\n)"
	case 6:
		return "echo \"a `" + strings.ReplaceAll(inner(), "`", "\\`") + "` b\""
	case 7:
		return "cat <<E\n" + inner() + "\nE\n"
	case 8:
		return "cat <<'E'\n" + inner() + "\nE\n"
	case 9:
		return "cat <<-\"E\"\n\t" + inner() + "\n\tE\n"
	case 10:
		return "echo '" + strings.ReplaceAll(inner(), "'", `'\''`) + "'"
	case 11:
		return "sh -c '" + strings.ReplaceAll(inner(), "'", `'\''`) + "'"
	case 12:
		return "f() { " + inner() + "; }; f"
	case 13:
		return "x=$(" + inner() + "\n)"
	case 14:
		return "echo $((1 + $(" + inner() + "\n)))"
	case 15:
		return "! " + drawStatement(t, depth-1)
	case 16:
		return "until " + inner() + "; do break; done"
	case 17:
		return "cat <(" + inner() + ")"
	case 18:
		return "eval '" + strings.ReplaceAll(inner(), "'", `'\''`) + "'"
	case 19:
		return "echo ${x:-$(" + inner() + "\n)}"
	case 20:
		return "trap '" + strings.ReplaceAll(inner(), "'", `'\''`) + "' EXIT"
	case 21:
		return "time " + drawStatement(t, depth-1)
	case 22:
		return "cd in && " + drawStatement(t, depth-1)
	}
	return drawCommand(t)
}

// drawCommand returns a random simple command. Most of its words are harmless, so that many scripts
// are allowed.
func drawCommand(t *rapid.T) string {
	programs := []string{"echo", "cat", "ls", "test", "[", "[[ -n", "printf", "true", "x=1", "set -e", "sed -n", "grep",
		"head", "sort", "find", "timeout 5", "command", "nice", ":", "!"}
	if rapid.IntRange(0, 9).Draw(t, "harm") == 0 {
		programs = []string{"./canary", "env", "xargs", "exec", "sh -c", "{", "if", "(", "eval", "timeout -k",
			"builtin", "x=1", ".", "[[", "((", "for x in", "case"}
	}
	words := []string{rapid.SampledFrom(programs).Draw(t, "program")}
	for range rapid.IntRange(1, 4).Draw(t, "words") {
		words = append(words, drawWord(t))
	}
	return strings.Join(words, rapid.SampledFrom([]string{" ", " ", " ", "\t", " \\\n", "\\\n", ""}).Draw(t, "space"))
}

// drawWord returns a random word or operator, plain or quoted in some way.
func drawWord(t *rapid.T) string {
	list := []string{"a", "x", "-n", "p", "./canary", "canary", "]", "=", "1", "-f", "2>&1", ">/dev/null", "#", "==",
		"in", "then", "}", "*", "."}
	if rapid.IntRange(0, 5).Draw(t, "harm") == 0 {
		list = []string{"]]", "-o", "||", "&&", ";", "|", "&", "<", ">", ">written", ">|written", "&>written",
			"<>written", "<&-", "\n", ";./canary", "&./canary", "|./canary",
			"$(./canary)", "`./canary`", "<(./canary)", "${x:-./canary}", "$x", "$?", "./can*", "{./canary,a}", "~",
			"$'\\x2e/canary'", "$\"./canary\"", "\\", "'", "\"", "(", ")",
			"{", "!", "-exec ./canary", "\\;", "{}", "1e./canary", "wwritten", "w written", "s/a/./canary/e", "-c",
			"a[$(./canary)]", "-v", "-eq", "=~", "<<E", "E", "\nE\n", "<<<",
			"do", "done", "fi", "esac", "+=", "$((", "))", "[", "a=b", "--", "-owritten", "-fprint written", "%n", "-i",
			"$(", "`", "#\n./canary", "\\\n./canary", "\n./canary\n"}
	}
	text := rapid.SampledFrom(list).Draw(t, "text")
	switch rapid.IntRange(0, 9).Draw(t, "quotes") {
	case 0:
		return "'" + text + "'"
	case 1:
		return `"` + text + `"`
	case 2:
		return `\` + text
	case 3:
		return text + "'" + text + "'"
	case 4:
		return `"'` + text + `'"`
	}
	return text
}

// TestL2_CanaryWorks checks that the canary of TestL2_NothingRunsUnasked shows what runs.
func TestL2_CanaryWorks(t *testing.T) {
	p := newPlace(t)
	for _, sh := range canaryShells {
		peer.Need(t, sh[0])
		for script, want := range map[string]bool{"./canary": true, "echo > written": true, "cd in && ./canary": true,
			"echo ./canary": false} {
			if got := p.runsCanary(sh, script); got != want {
				t.Errorf("%v: %q runs the canary: %v", sh, script, got)
			}
		}
	}
}

// FuzzParse checks that any text is judged in bounded time without a panic, and that what a script
// runs has the form that is promised.
func FuzzParse(f *testing.F) {
	for _, script := range append(scripts(asking), scripts(harmless)...) {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		s := shell.Parse(script, shell.Place{Dir: "/w", Home: "/h"})
		for _, c := range s.Commands {
			if len(c.Words) == 0 {
				t.Errorf("%q: a command without words: %+v", script, c)
			}
			for _, i := range c.Globs {
				if i < 0 || i >= len(c.Words) {
					t.Errorf("%q: no word %d in %q", script, i, c.Words)
				}
			}
			for _, name := range append(c.Reads, c.Writes...) {
				if !strings.HasPrefix(name, "/") {
					t.Errorf("%q: the path %q is not absolute", script, name)
				}
			}
			if c.Dir != "" && !strings.HasPrefix(c.Dir, "/") {
				t.Errorf("%q: the directory %q is not absolute", script, c.Dir)
			}
		}
	})
}
