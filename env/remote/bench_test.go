package remote_test

import (
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
)

// process opens an environment that another process serves over its standard streams.
func process(b *testing.B) *remote.Env {
	b.Helper()
	near, cmd := child(b)
	e, err := remote.New(b.Context(), near, remote.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return e
}

// environments runs a benchmark here and over there.
func environments(b *testing.B, run func(b *testing.B, e env.Environment)) {
	b.Run("local", func(b *testing.B) { run(b, local(b, b.TempDir())) })
	b.Run("remote", func(b *testing.B) { run(b, process(b)) })
}

// A Stat over a pipe takes at most 1 ms.
func BenchmarkO2_Stat(b *testing.B) {
	environments(b, func(b *testing.B, e env.Environment) {
		for b.Loop() {
			if _, err := e.Stat(b.Context(), "."); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// 100 MB of output over a pipe take at most 1.5 s.
func BenchmarkO2_Output(b *testing.B) {
	environments(b, func(b *testing.B, e env.Environment) {
		b.SetBytes(100e6)
		for b.Loop() {
			n := 0
			r, err := env.Run(b.Context(), e, env.Command{Script: "head -c 100000000 /dev/zero",
				Output: func(_ int, p []byte) { n += len(p) }}, waitTime)
			if err != nil || r.Code != 0 || n != 100e6 {
				b.Fatal(r, err, n)
			}
		}
	})
}

// 200 reads of files at once, over one connection.
func BenchmarkO2_TwoHundred(b *testing.B) {
	environments(b, func(b *testing.B, e env.Environment) {
		if err := e.WriteFile(b.Context(), "a", make([]byte, 100_000), 0o644); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() {
					if err := readAll(b.Context(), e, "a"); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}
