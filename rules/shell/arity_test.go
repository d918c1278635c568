package shell

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// arity compares what the table takes for the operands of a command with what the real program
// takes for them.
type arity struct {
	*testing.T
	dir      string
	env      *env.Local
	program  []string // that runs instead of the command's
	tried    int
	compared int
}

// busyboxToo makes TestL2_Arity compare the table with busybox as well, whose programs take fewer
// options.
var busyboxToo = flag.Bool("arity.busybox", false, "compare the options with those of busybox, too")

// TestL2_Arity calls each program of the table with each of its options, followed by two names of
// files that do not exist. What the program cannot find is an operand, and must not have been taken
// for the value of the option, in which no rule would see it. What is taken for an operand must not
// be a value, because the next word would then be another one's.
func TestL2_Arity(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the table is compared with the programs of Linux systems")
	}
	box, compared := peer.Need(t, "busybox"), 0
	applets, err := exec.Command(box, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(table) {
		name, _, _ := strings.Cut(row, " ")
		s, _ := specOf(name)
		if s.kind == text {
			continue
		}
		t.Run(name, func(t *testing.T) {
			found, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed: %v", name, err)
			}
			compared += newArity(t, found).options(s, pattern(s, name)...)
		})
		if *busyboxToo && slices.Contains(strings.Fields(string(applets)), name) {
			t.Run("busybox "+name, func(t *testing.T) { newArity(t, box, name).options(s, pattern(s, name)...) })
		}
	}
	if compared < 500 {
		t.Errorf("only %d options of programs show what they take", compared)
	}
}

// TestL2_GitArity does the same for the commands of git, which report the operands that are neither
// a revision nor a file.
func TestL2_GitArity(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the options are compared with those of the git that Linux systems have")
	}
	git := peer.Need(t, "git")
	for _, sub := range []string{"diff", "log", "show", "rev-list", "shortlog", "blame", "annotate", "ls-tree",
		"cat-file", "describe", "name-rev", "diff-tree",
		"diff-index", "rev-parse", "ls-files", "grep .", "stash show", "reflog show", "cherry", "range-diff"} {
		t.Run(sub, func(t *testing.T) {
			a := newArity(t, git)
			for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@y", "commit",
				"-q", "--allow-empty", "-m", "x"}} {
				cmd := exec.Command(git, args...)
				cmd.Dir = a.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			words := strings.Fields(sub)
			s, ok := gitSpec(words[0])
			if !ok {
				t.Fatal("it is not known")
			}
			a.options(s, append([]string{"git"}, words...)...)
		})
	}
}

// pattern returns the beginning of a command: its name, and the pattern of programs that begin with
// one.
func pattern(s spec, name string) []string {
	switch {
	case name == "sed":
		return []string{name, "-n", "p"}
	case s.first:
		return []string{name, "."}
	}
	return []string{name}
}

func newArity(t *testing.T, program ...string) *arity {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &arity{T: t, dir: dir, env: e, program: program}
}

// options tries all options of a command. It returns how many show what they take.
func (a *arity) options(s spec, command ...string) (compared int) {
	a.Helper()
	for i, letter := range s.short {
		if letter != ':' {
			a.option(s, command, "-"+s.short[i:i+1])
		}
	}
	dashes := "--"
	if s.single {
		dashes = "-"
	}
	for name := range strings.FieldsSeq(s.long) {
		a.option(s, command, dashes+strings.TrimRight(name, "=?"))
	}
	a.Logf("%d of %d options show what they take", a.compared, a.tried)
	return a.compared
}

// option tries one option. Some take only numbers, some no numbers.
func (a *arity) option(s spec, command []string, option string) {
	a.Helper()
	a.tried++
	for _, first := range []string{"1", "zz1"} {
		const second = "zz2"
		words := slices.Concat(command, []string{option, first, second})
		files, why := Reading(a.Context(), Machine{Env: a.env, Home: a.dir, Outside: nowhere},
			Command{Words: words, Dir: a.dir})
		if why != "" {
			return // it asks
		}
		believed := func(name string) bool {
			if p, _ := s.parse(words[len(command):]); command[0] == "git" { // of which not every operand is a file
				return slices.Contains(p.operands, name)
			}
			return slices.ContainsFunc(files, func(f File) bool { return path.Base(f.Path) == name })
		}
		output := a.run(words[1:])
		missing := func(name string) bool { return misses(output, name) }
		if !missing(first) && !missing(second) {
			continue
		}
		a.compared++
		for _, name := range []string{first, second} {
			if missing(name) && !believed(name) {
				a.Errorf("%q hides the operand %s:\n%s", words, name, output)
			}
		}
		// Behind the pattern, options also count as operands: only the arguments show what is a
		// value.
		p, _ := s.parse(words[1:])
		if missing(second) && !missing(first) && believed(first) && slices.Contains(p.operands, first) {
			a.Errorf("%q takes %s for a value:\n%s", words, first, output)
		}
		return
	}
}

func nowhere(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

// run returns all that the program prints.
func (a *arity) run(args []string) string {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.program[0], slices.Concat(a.program[1:], args)...)
	cmd.Dir = a.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + a.dir, "GIT_CONFIG_NOSYSTEM=1"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	_ = cmd.Run() // most fail
	return out.String()
}

// misses reports whether a program says that it cannot find a file, or what git calls an argument.
func misses(output, name string) bool {
	word := regexp.MustCompile(`(^|[^a-z0-9.-])` + name + `($|[^a-z0-9-])`)
	for line := range strings.Lines(output) {
		says := strings.Contains(line, "No such file") || strings.Contains(line, "not a directory") ||
			strings.Contains(line, "ambiguous argument") ||
			strings.Contains(line, "bad revision") || strings.Contains(line, "Not a valid") ||
			strings.Contains(line, "no such path") ||
			strings.Contains(line, "did not match any") || strings.Contains(line, "Could not get") ||
			strings.Contains(line, "unknown revision")
		if says && word.MatchString(line) {
			return true
		}
	}
	return false
}
