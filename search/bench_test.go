//go:build unix

package search

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
)

var many = flag.Bool("many", false, "benchmarks also search 100,000 small files, which takes a minute to write")

// once returns the program in testdata/once, built.
func once(b *testing.B) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "once")
	if out, err := exec.Command("go", "build", "-o", name, "./testdata/once").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return name
}

// trees returns the trees to search by name: Go's own sources and, with -many, their lines in
// 100,000 files of 30 lines.
func trees(b *testing.B) map[string]string {
	b.Helper()
	src := goSources(b)
	all := map[string]string{"go": src}
	if *many {
		all["many"] = manyFiles(b, src, 100_000)
	}
	return all
}

// manyFiles writes the first lines of a tree to small files, a hundred in each directory.
func manyFiles(b *testing.B, src string, n int) string {
	b.Helper()
	dir := b.TempDir()
	written := 0
	err := filepath.WalkDir(src, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		for lines := bytes.SplitAfter(text, []byte("\n")); err == nil && len(lines) > 0 && written < n; {
			head := lines[:min(30, len(lines))]
			lines = lines[len(head):]
			below := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d", written/5000, written/100%50))
			if written%100 == 0 {
				must(b, os.MkdirAll(below, 0o755))
			}
			err = os.WriteFile(filepath.Join(below, fmt.Sprintf("%02d_%s", written%100, filepath.Base(name))),
				bytes.Join(head, nil), 0o644)
			written++
		}
		return err
	})
	must(b, err)
	return dir
}

// spent runs a program in a directory and returns its processor time and what it printed.
func spent(b *testing.B, dir string, command []string) (time.Duration, []byte) {
	b.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // ripgrep found nothing
		b.Fatalf("%q: %v", command, err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out
}

// contest runs our program and its peers in turn. It reports the median of our processor time and
// its ratio to that of each peer, next to the ratio to reach.
func contest(b *testing.B, dir string, goal float64, ours []string, peers map[string][]string) {
	_, want := spent(b, dir, ours) // also warms up the caches
	for name, command := range peers {
		if _, out := spent(b, dir, command); bytes.Count(out, []byte("\n")) != bytes.Count(want, []byte("\n")) {
			b.Logf("%s prints %d lines, we print %d", name, bytes.Count(out, []byte("\n")),
				bytes.Count(want, []byte("\n")))
		}
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, command := range peers {
			took, _ := spent(b, dir, command)
			times[name] = append(times[name], took)
		}
		took, _ := spent(b, dir, ours)
		times[""] = append(times[""], took)
	}
	for _, all := range times {
		slices.Sort(all)
	}
	median := func(name string) float64 { return float64(times[name][len(times[name])/2]) }
	b.ReportMetric(median("")/1e6, "cpu-ms")
	b.ReportMetric(goal, "goal")
	for name := range peers {
		b.ReportMetric(median("")/median(name), "x-"+name)
	}
}

// ripgrepSame holds the options with which ripgrep searches the files that we search. In a tree
// without .git it needs no more.
func ripgrepSame() []string {
	return []string{"rg", "--no-config", "--hidden", "--no-require-git", "--no-ignore-dot", "--no-ignore-global"}
}

// BenchmarkK10_Grep compares whole processes that search whole trees with ripgrep. Ripgrep does not
// sort what it finds, and we do.
func BenchmarkK10_Grep(b *testing.B) {
	peer.Need(b, "rg")
	program := once(b)
	for tree, dir := range trees(b) {
		for _, c := range []struct {
			name, pattern string
			options       []string
			goal          float64
		}{
			{"literal", `ErrUnexpectedEOF`, nil, 1.15},
			{"literalFiles", `ErrUnexpectedEOF`, []string{"-l"}, 1.15},
			{"literalCounts", `ErrUnexpectedEOF`, []string{"-c"}, 1.15},
			{"none", `nowhere_to_be_found`, nil, 1.15},
			{"ignoreCase", `errunexpectedeof`, []string{"-i"}, 1.15},
			{"ignoreCaseFiles", `readseeker`, []string{"-i", "-l"}, 1.15},
			{"alternatives8", `alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel`, nil, 1.5},
			{"alternatives8Files", `Mutex|WaitGroup|Scanner|Listener|Marshal|Decoder|Handler|Builder`, []string{"-l"},
				1.5},
			{"alternatives8IgnoreCase", `alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel`, []string{"-i"}, 1.5},
			{"frequentCounts", `return err`, []string{"-c"}, 1.15},
			{"context", `ErrUnexpectedEOF`, []string{"-A", "3", "-B", "3"}, 1.15},
			{"regex", `func \w+Reader\(`, nil, 1.15},
			{"noLiteral", `[A-Z]{5}\d{3}`, nil, 1.15},
			{"noLiteralCounts", `\w+_\w+_\w+\(\d`, []string{"-c"}, 1.15},
		} {
			b.Run(tree+"/"+c.name, func(b *testing.B) {
				contest(b, dir, c.goal, slices.Concat([]string{program}, c.options, []string{c.pattern}),
					map[string][]string{
						"rg": slices.Concat(ripgrepSame(), []string{"--line-number", "--no-context-separator"},
							c.options, []string{"-e", c.pattern, "."}),
					})
			})
		}
	}
}

// BenchmarkK10_Glob compares whole processes that list whole trees with ripgrep and fd. These do
// not sort, so they need no times. The peer sorted is ripgrep with the order that we have.
func BenchmarkK10_Glob(b *testing.B) {
	peer.Need(b, "rg")
	fd := peer.Need(b, "fdfind")
	program := once(b)
	for tree, dir := range trees(b) {
		for name, pattern := range map[string]string{"everything": "**", "suffix": "**/*_test.go",
			"fewer": "**/*_windows.go"} {
			byName, files := "*", append(ripgrepSame(), "--files")
			if pattern != "**" {
				byName = strings.TrimPrefix(pattern, "**/")
				files = append(files, "--glob", byName)
			}
			b.Run(tree+"/"+name, func(b *testing.B) {
				contest(b, dir, 1, []string{program, "-glob", pattern}, map[string][]string{
					"rg":     files,
					"fd":     {fd, "--hidden", "--type", "f", "--glob", byName},
					"sorted": append(files[:len(files):len(files)], "--sortr", "modified"),
				})
			})
		}
	}
}
