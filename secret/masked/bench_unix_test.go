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
		if err := m.Register(fmt.Sprintf("V%d", i),
			base64.RawURLEncoding.EncodeToString(random[:])[:8+i*7%57]); err != nil {
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

// BenchmarkL7_Output reports the processor time of a command that prints 1 MB of text, through the
// environment, the capture, the tool shell and the registry, and the share of it that masking
// costs. Each run prints another text. The store is that of a session: the whole output is kept in
// a file. What masking costs is measured with a command that is no process, because the times of
// processes differ too much. The goal is 5 %.
func BenchmarkL7_Output(b *testing.B) {
	dir := b.TempDir()
	text := sources(b, 1<<20)
	if err := os.WriteFile(filepath.Join(dir, "big"), text, 0o600); err != nil {
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
				run := func(e env.Environment, chain ...tool.Middleware) time.Duration {
					store := tool.NewOutputs(dir)
					call := tool.Call{Env: e, Session: &storing{}}
					if kept {
						call.Session = &storing{outputs: store}
						call.Live = func(int, []byte) {}
					}
					before := cpuTime(b)
					o := registry.Run(context.Background(), llm.ToolCall{ID: "c", Name: "shell",
						Args: `{"command":"cat big"}`}, call, nil, chain...)
					took := cpuTime(b) - before
					if err := store.Close(); o.IsError || o.Bytes != 1<<20 || err != nil {
						b.Fatal(o.Bytes, err, o.Model.Text())
					}
					return took
				}
				printed := &printer{Base: env.Base{Environment: l}, text: text}
				run(printed, masked.Tools(m))
				process, plain, with := time.Hour, time.Hour, time.Hour
				for b.Loop() {
					for range 20 { // the least of many runs, because others use the machine too
						process, plain, with = min(process, run(l)), min(plain, run(printed)),
							min(with, run(printed, masked.Tools(m)))
					}
				}
				b.ReportMetric(float64(process.Microseconds()), "plain-µs")
				b.ReportMetric(float64((with - plain).Microseconds()), "masking-µs")
				b.ReportMetric(float64(with-plain)/float64(process)*100, "masking-%")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// printer is an environment whose commands print a text that is another one each time.
type printer struct {
	env.Base
	text  []byte
	count uint64
}

// Start implements env.Environment.
func (p *printer) Start(_ context.Context, cmd env.Command) (env.Process, error) {
	p.count++
	copy(p.text, fmt.Sprintf("%016d", p.count))
	const piece = 32 << 10
	for at := 0; at < len(p.text); at += piece {
		cmd.Output(env.Stdout, p.text[at:min(at+piece, len(p.text))])
	}
	return ended{}, nil
}

// ended is a command that has ended.
type ended struct{ env.Process }

// Wait implements env.Process.
func (ended) Wait(context.Context) (env.Exit, error) { return env.Exit{}, nil }

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

// BenchmarkL7_Text reports the processor time of masking 1 MB of text, and as a multiple of copying
// it. Each text is another one.
func BenchmarkL7_Text(b *testing.B) {
	source := string(sources(b, 1<<20))
	for _, n := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			m := withValues(b, n)
			masking, copying := time.Hour, time.Hour
			var to bytes.Buffer
			const rounds = 50
			for i := 0; b.Loop(); i++ {
				for round := range rounds {
					text := fmt.Sprintf("%d %d %s", i, round, source)
					begin := cpuTime(b)
					m.String(text)
					masked := cpuTime(b)
					to.Reset()
					to.WriteString(text)
					masking, copying = min(masking, masked-begin), min(copying, cpuTime(b)-masked)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(masking.Microseconds()), "masking-µs")
			b.ReportMetric(float64(masking)/float64(copying), "x-copy")
		})
	}
}

// BenchmarkL7_Delta reports the processor time of masking a delta of 20 bytes as an event, beyond
// that of the event.
func BenchmarkL7_Delta(b *testing.B) {
	text := string(sources(b, 1<<20))
	for _, n := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			shown, seq := 0, int64(0)
			count := func(agent.Event) { shown++ }
			const deltas = 20_000
			time20k := func(show func(agent.Event)) time.Duration {
				begin := cpuTime(b)
				for i := range deltas {
					seq++
					show(&agent.AssistantTextDelta{EventHeader: agent.EventHeader{Kind: agent.KindAssistantTextDelta,
						SessionID: "s", Seq: seq}, Text: text[i*20 : i*20+20]})
				}
				return cpuTime(b) - begin
			}
			show := masked.Events(withValues(b, n), count)
			plain, with := time.Hour, time.Hour
			for b.Loop() {
				plain, with = min(plain, time20k(count)), min(with, time20k(show))
			}
			best := (with - plain) / deltas
			b.ReportMetric(float64(best.Nanoseconds()), "masking-ns/delta")
			b.ReportMetric(0, "ns/op")
		})
	}
}
