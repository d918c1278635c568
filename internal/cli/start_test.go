//go:build unix

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// informing returns command lines that only print what the program knows about itself.
func informing() [][]string {
	return [][]string{{"version"}, {"--help"}, {"run", "--help"}, {"completion", "bash"}, {"completion", "zsh"},
		{"completion", "fish"}}
}

// A command that needs no profile, schema or catalog builds none. Each of them takes thousands of
// allocations, the flags and the output a few hundred.
func TestK1_InformingBuildsNothing(t *testing.T) {
	for _, args := range informing() {
		n := testing.AllocsPerRun(5, func() {
			if code := execute(args, terminal{in: strings.NewReader(""), out: io.Discard, err: io.Discard}); code != 0 {
				t.Errorf("attractor %s ends with %d", args, code)
			}
		})
		t.Logf("attractor %s: %v allocations", strings.Join(args, " "), n)
		if n > 3000 {
			t.Errorf("attractor %s makes %v allocations", strings.Join(args, " "), n)
		}
	}
}

// No package of this module does work before main: what it needs, such as a regular expression, it
// makes when it is first used.
func TestK1_InitializationIsEmpty(t *testing.T) {
	cmd := attractorCommand(t, "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(
		`(?m)^init (github.com/attractor-go/\S+) @.* (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(trace.String(),
		-1)
	if len(lines) == 0 {
		t.Fatalf("there is no trace of the initialization:\n%s", trace.String())
	}
	for _, line := range lines {
		if strings.HasSuffix(line[1], "/internal/cli") { // with the variables of its tests
			continue
		}
		size, errSize := strconv.Atoi(line[2])
		n, errCount := strconv.Atoi(line[3])
		if errSize != nil || errCount != nil || size > 4<<10 || n > 40 {
			t.Error(line[0])
		}
	}
}

// emptyProgram links net/http and does nothing.
const emptyProgram = `package main

import (
	"net/http"
	"os"
)

func main() {
	if http.DefaultClient == nil {
		os.Exit(1)
	}
}
`

// buildEmpty builds the program that the start of the command is compared with, and returns its
// path.
func buildEmpty(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte(emptyProgram), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", bin, source).CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// installed returns a copy of a program. The kernel maps a file that was written as a whole with
// fewer page faults than one that the linker has written piece by piece, so that without a copy the
// same program measures differently from build to build.
func installed(b *testing.B, program string) string {
	b.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), filepath.Base(program))
	if err := os.WriteFile(name, text, 0o700); err != nil {
		b.Fatal(err)
	}
	return name
}

// BenchmarkK1_Start reports the processor time of commands that only print something, and its ratio
// to that of an empty program that links net/http. The goal is 1.5. The two programs run by turns,
// and the lowest time of each counts.
func BenchmarkK1_Start(b *testing.B) {
	bin, empty := installed(b, buildCommand(b)), installed(b, buildEmpty(b))
	for _, args := range informing() {
		b.Run(strings.Join(args, "_"), func(b *testing.B) {
			own, bare := time.Hour, time.Hour
			for b.Loop() {
				for range 20 {
					own = min(own, costOf(b, exec.Command(bin, args...)).cpu)
					bare = min(bare, costOf(b, exec.Command(empty)).cpu)
				}
			}
			b.ReportMetric(float64(own.Microseconds())/1e3, "cpu-ms")
			b.ReportMetric(float64(own)/float64(bare), "x-empty")
			b.ReportMetric(1.5, "goal-x-empty")
		})
	}
}
