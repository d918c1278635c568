package lsp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/attractor-go/attractor/lsp"
	"github.com/attractor-go/attractor/tool"
)

// others returns calls that no server is for: they read, or change a file of another kind.
func others() map[string]*tool.Call {
	return map[string]*tool.Call{
		"read":  {Name: "read_file", Access: tool.Access{Effect: tool.ReadOnly, Paths: []string{"/w/a.go"}}},
		"write": {Name: "write_file", Access: tool.Access{Effect: tool.Writes, Paths: []string{"/w/README.md"}}},
	}
}

// unchanged is a handler that allocates nothing.
func unchanged() tool.Handler {
	result := tool.Text("done")
	result.Changes = []tool.Change{{Kind: tool.Modified, Path: "/w/README.md"}}
	return func(context.Context, *tool.Call) (tool.Result, error) { return result, nil }
}

// Calls that no server is for cost nothing.
func TestM11_OthersCostNothing(t *testing.T) {
	w := newWorkspace(t, lsp.Options{Servers: lsp.Defaults()})
	handler := w.servers.Middleware(unchanged())
	for name, call := range others() {
		if n := testing.AllocsPerRun(100, func() { _, _ = handler(t.Context(), call) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkM11_Others(b *testing.B) {
	w := newWorkspace(b, lsp.Options{Servers: lsp.Defaults()})
	plain := unchanged()
	handler := w.servers.Middleware(plain)
	for name, call := range others() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			begin := time.Now()
			for b.Loop() {
				_, _ = handler(ctx, call)
			}
			with := time.Since(begin) / time.Duration(b.N)
			begin = time.Now()
			for range b.N {
				_, _ = plain(ctx, call)
			}
			without := time.Since(begin) / time.Duration(b.N)
			b.ReportMetric(float64(with)/float64(max(without, 1)), "ratio")
		})
	}
}

// Edits of a file of a package, with a server that is warm, against the same edits without one.
func BenchmarkM11_Edit(b *testing.B) {
	files := []string{"go.mod", goMod, "a.go", goFile, "b.go", caller}
	w := gopls(b, files...)
	plain := newWorkspace(b, lsp.Options{}, files...)
	edit := func(w *workspace, i int) { w.write("a.go", fmt.Sprintf("%s\nvar n = %d\n", goFile, i)) }
	edit(w, 0)
	var with, without time.Duration
	i := 0
	for b.Loop() {
		i++
		begin := time.Now()
		edit(w, i)
		with += time.Since(begin)
		begin = time.Now()
		edit(plain, i)
		without += time.Since(begin)
	}
	b.ReportMetric(float64(with)/float64(without), "ratio")
	b.ReportMetric(float64(with.Microseconds())/1e3/float64(b.N), "ms/edit")
}
