//go:build unix

package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/tool"
)

const editSize = 10 << 20

// editBenchmarks holds edits of a line in the middle of 10 MB of source, one for each way of
// finding it.
var editBenchmarks = []struct {
	name, how  string
	ending     string
	line, old  string // in the file, and as the model has it
	typography bool   // the file has letters that are not ASCII on every line
}{
	{"exact", "", "\n", "\tunique := compute(1)", "\tunique := compute(1)", false},
	{"exact-crlf", "", "\r\n", "\tunique := compute(1)", "\tunique := compute(1)", false},
	{"exact-utf8", "", "\n", "\tunique := compute(1)", "\tunique := compute(1)", true},
	{"line-ends", "white space at the ends of lines", "\n", "\tunique := compute(1)  ",
		"\tunique := compute(1)\n\n\treturn", false},
	{"indentation", "indentation", "\n", "\tunique := compute(1)", "unique := compute(1)\n\nreturn", false},
	{"typography", "typographic characters such as quotes, dashes and special spaces", "\n", "\tunique := “compute”",
		"\tunique := \"compute\"", true},
	{"all", "white space and typographic characters", "\n", "\tunique := “compute”", "unique := \"compute\"\n\nreturn",
		true},
}

// content returns 10 MB with the line in the middle, followed by an empty one and a return.
func editContent(line, ending string, typography bool) string {
	filler := "\tif err := step(ctx, %d); err != nil {" + ending + "\t\treturn fmt.Errorf(\"step: %%w\", err)" +
		ending + "\t}" + ending
	if typography {
		filler = "\t// Schritt für Schritt: %d" + ending + filler
	}
	var b strings.Builder
	write := func(until int) {
		for i := 0; b.Len() < until; i++ {
			b.WriteString(strings.Replace(filler, "%d", fmt.Sprint(i), 1))
		}
	}
	write(editSize / 2)
	b.WriteString(line + ending + ending + "\treturn" + ending)
	write(editSize)
	return b.String()
}

// BenchmarkC5_Edit compares an edit of 10 MB in memory with a copy into existing memory. times-copy
// is the ratio of their processor times.
func BenchmarkC5_Edit(b *testing.B) {
	for _, bb := range editBenchmarks {
		content := editContent(bb.line, bb.ending, bb.typography)
		e := edit{old: bb.old, new: bb.old + " + 1"}
		if m := e.match(content); len(m.places) != 1 || m.how != bb.how {
			b.Fatalf("%s: %d places, %s", bb.name, len(m.places), m.how)
		}
		copied := copyTime(b, content)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			start, n := cpuTime(b), 0
			for b.Loop() {
				e.apply(content, e.match(content).places)
				n++
			}
			report(b, start, n, copied)
		})
	}
}

// BenchmarkC5_EditFile runs the whole tool, which also reads the file, writes it durably and
// renders the snippet.
func BenchmarkC5_EditFile(b *testing.B) {
	content := editContent("\tunique := compute(1)", "\n", false)
	copied := copyTime(b, content)
	bench := newFixture(b)
	bench.put("big.go", content)
	var turns [2]string
	for i := range turns {
		args, err := json.Marshal(editFileArgs{FilePath: "big.go", OldString: fmt.Sprintf("compute(%d)", i+1),
			NewString: fmt.Sprintf("compute(%d)", 2-i)})
		if err != nil {
			b.Fatal(err)
		}
		turns[i] = string(args)
	}
	t := EditFile()
	b.ReportAllocs()
	b.SetBytes(int64(len(content)))
	start, n := cpuTime(b), 0
	for b.Loop() {
		if _, err := t.Run(context.Background(), &tool.Call{Args: turns[n%2], Env: bench.env}); err != nil {
			b.Fatal(err)
		}
		n++
	}
	report(b, start, n, copied)
}

// copyTime returns the processor time of copying a content.
func copyTime(b *testing.B, content string) time.Duration {
	const rounds = 50
	dst := make([]byte, len(content))
	copy(dst, content)
	start := cpuTime(b)
	for range rounds {
		copy(dst, content)
	}
	return (cpuTime(b) - start) / rounds
}

func report(b *testing.B, start time.Duration, n int, copied time.Duration) {
	used := (cpuTime(b) - start) / time.Duration(n)
	b.ReportMetric(float64(used.Microseconds())/1000, "cpu-ms/op")
	b.ReportMetric(float64(used)/float64(copied), "times-copy")
}

// cpuTime returns the user and system time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
