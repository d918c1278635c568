//go:build unix

package coding

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/tool"
)

const (
	patchedLines = 50_000
	patchedHunks = 1000
)

// patchBenchmarks holds patches by how the model has copied the file's lines.
var patchBenchmarks = []struct {
	name   string
	copied func(line string) string
	apart  bool // each hunk is an operation of its own
}{
	{"exact", func(line string) string { return line }, false},
	{"line-ends", func(line string) string { return line + "  " }, false},
	{"indentation", func(line string) string { return "\t" + line }, false},
	{"typography", func(line string) string { return strings.Replace(line, "'", "’", 1) }, false},
	{"operations", func(line string) string { return line }, true},
}

// BenchmarkK7_ApplyPatch applies patches of 1,000 hunks to a file of 50,000 lines. It reports the
// processor time of the whole tool, which also reads the file, writes it durably and makes the
// diff, and the goal.
func BenchmarkK7_ApplyPatch(b *testing.B) {
	line := func(i int) string { return fmt.Sprintf("\tstep(ctx, 'number %d')", i) }
	var content strings.Builder
	for i := range patchedLines {
		content.WriteString(line(i) + "\n")
	}
	for _, bb := range patchBenchmarks {
		var patch strings.Builder
		patch.WriteString("*** Begin Patch\n*** Update File: f\n")
		for n := range patchedHunks {
			i := n * patchedLines / patchedHunks
			if n > 0 && bb.apart {
				patch.WriteString("*** Update File: f\n")
			}
			fmt.Fprintf(&patch, "@@\n %s\n-%s\n+%s\n %s\n", bb.copied(line(i)), bb.copied(line(i+1)),
				bb.copied(line(-i)), bb.copied(line(i+2)))
		}
		patch.WriteString("*** End Patch\n")
		b.Run(bb.name, func(b *testing.B) {
			f := newFixture(b)
			b.ReportAllocs()
			var spent time.Duration
			n := 0
			for b.Loop() {
				f.put("f", content.String())
				start := cpuTime(b)
				if out := f.runCall(b.Context(), ApplyPatch(), object{"patch": patch.String()},
					tool.Call{Diffs: 1 << 20}); out.IsError {
					b.Fatal(out.Model.Text())
				}
				spent += cpuTime(b) - start
				n++
			}
			b.ReportMetric(spent.Seconds()*1e3/float64(n), "cpu-ms/op")
			b.ReportMetric(60, "goal-ms")
		})
	}
}
