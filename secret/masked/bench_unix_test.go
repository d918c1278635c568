//go:build unix

package masked_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// withValues returns a masker with so many random values of 8 to 64 bytes.
func withValues(b *testing.B, n int) *secret.Masker {
	b.Helper()
	m := secret.New()
	var random [64]byte
	for i := range n {
		if _, err := rand.Read(random[:]); err != nil {
			b.Fatal(err)
		}
		if err := m.Register(fmt.Sprintf("V%d", i), base64.RawURLEncoding.EncodeToString(random[:])[:8+i*7%57]); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// sources returns so many bytes of Go's sources.
func sources(b *testing.B, n int) []byte {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src/net/http/*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("Go's sources are not here: ", err)
	}
	var text []byte
	for i := 0; len(text) < n; i++ {
		data, err := os.ReadFile(files[i%len(files)])
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, data...)
	}
	return text[:n]
}

// cpuTime returns the processor time of this process and of the children that it has waited for.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// BenchmarkL7_Output reports the processor time of a command that prints 1 MB of text, through the environment, the capture, the tool shell
// and the registry, and the share of it that masking costs. The store is that of a session: the whole output is kept in a file. The goal is
// 5 %.
func BenchmarkL7_Output(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), sources(b, 1<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	l, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	}()
	registry, err := tool.NewRegistry(coding.Shell(time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		for _, n := range []int{0, 10, 100} {
			b.Run(fmt.Sprintf("kept=%v/values=%d", kept, n), func(b *testing.B) {
				m := withValues(b, n)
				run := func(chain ...tool.Middleware) time.Duration {
					store := tool.NewOutputs(dir)
					call := tool.Call{Env: l, Session: &storing{}}
					if kept {
						call.Session = &storing{outputs: store}
						call.Live = func(int, []byte) {}
					}
					before := cpuTime(b)
					o := registry.Run(context.Background(), llm.ToolCall{ID: "c", Name: "shell", Args: `{"command":"cat big"}`}, call, nil, chain...)
					took := cpuTime(b) - before
					if o.IsError || o.Bytes != 1<<20 || store.Close() != nil {
						b.Fatal(o.Model.Text())
					}
					return took
				}
				run(masked.Tools(m, masked.Options{}))
				plain, with := time.Hour, time.Hour
				for b.Loop() {
					for range 20 { // the least of many runs, because others use the machine too
						plain, with = min(plain, run()), min(with, run(masked.Tools(m, masked.Options{})))
					}
				}
				b.ReportMetric(float64(plain.Microseconds()), "plain-µs")
				b.ReportMetric(float64(with-plain)/float64(plain)*100, "masking-%")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// storing is a session that may have a store of outputs.
type storing struct {
	tool.Plain
	outputs *tool.DirOutputs
}

// Outputs implements tool.Session.
func (s *storing) Outputs() tool.Outputs {
	if s.outputs == nil {
		return nil
	}
	return s.outputs
}

// BenchmarkL7_Text reports the processor time of masking 1 MB of text, and as a multiple of copying it.
func BenchmarkL7_Text(b *testing.B) {
	text := string(sources(b, 1<<20))
	for _, n := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			m := withValues(b, n)
			m.String(text)
			masking, copying := time.Hour, time.Hour
			var to bytes.Buffer
			const rounds = 50
			for b.Loop() {
				begin := cpuTime(b)
				for range rounds {
					m.String(text)
				}
				masked := cpuTime(b)
				for range rounds {
					to.Reset()
					to.WriteString(text)
				}
				masking, copying = min(masking, (masked-begin)/rounds), min(copying, (cpuTime(b)-masked)/rounds)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(masking.Microseconds()), "masking-µs")
			b.ReportMetric(float64(masking)/float64(copying), "x-copy")
		})
	}
}

// BenchmarkL7_Delta reports the processor time of masking a delta of 20 bytes as an event.
func BenchmarkL7_Delta(b *testing.B) {
	text := string(sources(b, 1<<20))
	for _, n := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			shown := 0
			show := masked.Events(withValues(b, n), func(agent.Event) { shown++ })
			best := time.Hour
			for b.Loop() {
				const deltas = 20_000
				begin := cpuTime(b)
				for i := range deltas {
					show(&agent.AssistantTextDelta{EventHeader: agent.EventHeader{Kind: agent.KindAssistantTextDelta, SessionID: "s"}, Text: text[i*20 : i*20+20]})
				}
				best = min(best, (cpuTime(b)-begin)/deltas)
			}
			b.ReportMetric(float64(best.Nanoseconds()), "cpu-ns/delta")
			b.ReportMetric(0, "ns/op")
		})
	}
}
