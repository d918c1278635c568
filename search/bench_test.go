//go:build unix

package search

import (
	"context"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// cpu returns the user and system time of this process, or of the children that it waited for.
func cpu(t testing.TB, who int) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// against reports the CPU time of one operation, and its ratio to that of a ripgrep command.
func against(b *testing.B, dir string, op func(), rg ...string) {
	b.ReportAllocs()
	op() // warms up the caches
	start := cpu(b, syscall.RUSAGE_SELF)
	for b.Loop() {
		op()
	}
	ours := cpu(b, syscall.RUSAGE_SELF) - start
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	if _, err := exec.LookPath("rg"); err != nil {
		b.Logf("rg is not installed, so nothing is compared: %v", err)
		return
	}
	start = cpu(b, syscall.RUSAGE_CHILDREN)
	for range b.N {
		cmd := exec.Command("rg", append([]string{"--no-config", "--hidden", "--no-require-git", "--glob", "!.git"}, rg...)...)
		cmd.Dir, cmd.Stdout = dir, io.Discard
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			b.Fatal(err)
		}
	}
	theirs := cpu(b, syscall.RUSAGE_CHILDREN) - start
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N)/1000, "rg-cpu-ms/op")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

// BenchmarkGrep searches Go's own sources.
func BenchmarkGrep(b *testing.B) {
	src := goSources(b)
	e := local(b, src)
	for _, q := range []struct {
		name string
		Query
		rg []string
	}{
		{"literal", Query{Pattern: `ErrUnexpectedEOF`}, nil},
		{"noMatch", Query{Pattern: `nowhere_to_be_found`}, nil},
		{"ignoreCase", Query{Pattern: `errunexpectedeof`, IgnoreCase: true}, []string{"-i"}},
		{"ignoreCaseOdd", Query{Pattern: `readseeker`, IgnoreCase: true}, []string{"-i"}},
		{"alternatives", Query{Pattern: `TODO|FIXME|XXX`}, nil},
		{"alternatives8", Query{Pattern: `alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel`}, nil},
		{"regex", Query{Pattern: `func \w+Reader\(`}, nil},
		{"frequent", Query{Pattern: `return err`}, nil},
		{"context", Query{Pattern: `ErrUnexpectedEOF`, Before: 3, After: 3}, []string{"-C3"}},
		{"noLiteral", Query{Pattern: `[A-Z]{5}\d{3}`}, nil},
		{"word", Query{Pattern: `\w+_\w+_\w+\(\d`}, nil},
		{"hard", Query{Pattern: `[A-Z].{18}[0-9]{3}$`}, nil},
		{"hardRare", Query{Pattern: `[aeiou].{18}[XYZ]{3}$`}, nil},
	} {
		b.Run(q.name, func(b *testing.B) {
			search := func() {
				r, err := Grep(context.Background(), e, q.Query)
				if err != nil || r.Searched < 1000 {
					b.Fatal(err, r.Searched)
				}
			}
			against(b, src, search, append(q.rg, "--line-number", "-e", q.Pattern, ".")...)
		})
	}
}

// BenchmarkGlob lists Go's own sources. Ripgrep does not sort, so it need not ask for times.
func BenchmarkGlob(b *testing.B) {
	src := goSources(b)
	e := local(b, src)
	for pattern, rg := range map[string][]string{"**/*_test.go": {"--files", "--glob", "*_test.go"}, "**": {"--files"}} {
		b.Run(pattern, func(b *testing.B) {
			list := func() {
				l, err := Glob(context.Background(), e, pattern, "")
				if err != nil || len(l.Files) < 1000 {
					b.Fatal(err, len(l.Files))
				}
			}
			against(b, src, list, rg...)
		})
	}
}
