//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/shquote"
)

// allowedBuiltins lists the builtins of which some form is taken for reading.
var allowedBuiltins = []string{":", "true", "false", "echo", "exit", "break", "continue", "return", "set",
	"wait", "cd", "pwd", "printf", "[", "test",
	"command", "type", "sleep"}

// otherBuiltins lists builtins that can evaluate, and of which no form is taken for reading.
var otherBuiltins = []string{"shift", "let", "declare", "typeset", "local", "unset", "read", "mapfile",
	"readarray", "getopts", "ulimit", "umask", "hash",
	"alias", "kill", "jobs", "times", "dirs", "pushd", "popd", "trap", "export", "readonly", "eval", "exec",
	"builtin", "fc", "history", "caller"}

// index is an argument that runs a program in whatever calculates it. It fits into a word of a
// script.
const index = `'a[$(: > mark)]'`

// TestL2_BuiltinsCalculateNothing feeds every builtin each option of its help with an index that
// runs a command, attached to the option, behind it and as an operand. In no shell may the command
// run in a script that is taken for reading.
func TestL2_BuiltinsCalculateNothing(t *testing.T) {
	t.Parallel()
	for _, sh := range canaryShells {
		peer.Need(t, sh[0])
	}
	p := newPlace(t)
	var allowed []string
	asked := 0
	for _, script := range builtinScripts(t) {
		if _, why := p.judge(script); why == "" {
			allowed = append(allowed, script)
		} else {
			asked++
		}
	}
	if len(allowed) == 0 || asked == 0 {
		t.Fatalf("the scripts show nothing: %d are allowed, %d ask", len(allowed), asked)
	}
	t.Logf("%d scripts are allowed, %d ask", len(allowed), asked)
	for _, sh := range slices.Concat(canaryShells, [][]string{{"ksh"}}) {
		if _, err := exec.LookPath(sh[0]); err != nil {
			t.Logf("%s is not installed: %v", sh[0], err)
			continue
		}
		for _, chunk := range slices.Collect(slices.Chunk(allowed, 40)) {
			if !p.calculates(sh, chunk) {
				continue
			}
			for _, script := range chunk {
				if p.calculates(sh, []string{script}) {
					t.Errorf("%v runs a command in %q", sh, script)
				}
			}
		}
	}
}

// TestL2_IndexRuns checks that the index of TestL2_BuiltinsCalculateNothing leaves its mark where a
// shell calculates it.
func TestL2_IndexRuns(t *testing.T) {
	p := newPlace(t)
	peer.Need(t, "bash")
	for _, script := range []string{"sleep 0 & wait -n -p " + index, "test -v " + index, "printf -v " + index +
		" x", "[[ " + index + " -eq 1 ]]"} {
		if !p.calculates([]string{"bash"}, []string{"echo", script}) {
			t.Errorf("%q leaves no mark", script)
		}
	}
}

var helpOption = regexp.MustCompile(`-([A-Za-z]+)`)

// builtinScripts returns scripts with each builtin, option and place of the index.
func builtinScripts(t *testing.T) (all []string) {
	for _, name := range slices.Concat(allowedBuiltins, otherBuiltins, []string{"[["}) {
		help, err := exec.CommandContext(t.Context(), "bash", "-c", `help -s -- "$1"; help -- "$1"`, "help",
			name).CombinedOutput()
		if err != nil && name != "sleep" {
			t.Logf("bash has no help for %s: %v", name, err)
		}
		options := map[string]bool{"": true, "-v": true, "-R": true, "-t": true, "-p": true, "-eq": true,
			"-lt": true, "--": true}
		for _, m := range helpOption.FindAllStringSubmatch(string(help), -1) {
			options["-"+m[1]] = true
			for _, letter := range m[1] {
				options["-"+string(letter)] = true
			}
		}
		end := map[string]string{"[": " ]", "[[": " ]]"}[name]
		for option := range options {
			for _, args := range []string{option + index, option + " " + index, index + " " + option + " 1",
				"1 " + option + " " + index, "x " + index + " " + option,
				option + " " + index + " x", option + " -n " + index, "-n " + option + " " + index} {
				all = append(all, name+" "+args+end)
			}
		}
		all = append(all, "sleep 0 & "+name+" -n -p "+index+end, name+" '%d' "+index+end,
			name+" '%*s' "+index+" x"+end, name+" "+index+"=1"+end)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// calculates reports whether the index of one of the scripts runs in a shell. Each script has a
// shell of its own, within one process group.
func (p *place) calculates(sh, scripts []string) bool {
	p.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(p.dir), "index")
	if err != nil {
		p.Fatal(err)
	}
	var b strings.Builder
	for _, script := range scripts {
		b.WriteString("(for i in 1; do eval " + shquote.Words(script) +
			"; done) </dev/null\n") // a mistake ends only this one
	}
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh[0], slices.Concat(sh[1:], []string{"-c", b.String()})...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C.UTF-8"}
	cmd.Stdout = new(bytes.Buffer)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // most scripts fail
	_, err = os.Stat(filepath.Join(dir, "mark"))
	p.clear(dir, cmd.Process)
	return err == nil
}
