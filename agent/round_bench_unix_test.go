//go:build unix

package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// benchServer is set in the process that serves the model, so that its processor time and memory
// are not those of the session.
const benchServer = "ATTRACTOR_BENCH_SERVER"

// roundAnswer is an answer with a thought, a text and one call, as the Messages API streams it. It
// has the number of the request.
const roundAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_%[1]d","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I change"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" file %[1]d."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_%[1]d","name":"change","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"file%[1]d\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}

event: message_stop
data: {"type":"message_stop"}

`

// benchDeltas counts the deltas of textAnswer.
const benchDeltas = 10_000

// textAnswer returns an answer with a text of many deltas.
func textAnswer() string {
	before, rest, _ := strings.Cut(fmt.Sprintf(roundAnswer, 0), "event: content_block_delta")
	_, last, _ := strings.Cut(rest, "event: message_delta")
	delta := `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"twenty bytes of text"}}

`
	stop := "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta"
	return before + strings.Repeat(delta, benchDeltas) + stop + strings.Replace(last, "tool_use", "end_turn", 1)
}

// TestK3_Server is the process that serves the model for the benchmarks. It ends with its standard
// input.
func TestK3_Server(t *testing.T) {
	if os.Getenv(benchServer) == "" {
		t.Skip("it serves the benchmarks of rounds")
	}
	var requests atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		n := requests.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(r.URL.Path, "/text/") {
			io.WriteString(w, textAnswer())
			return
		}
		fmt.Fprintf(w, roundAnswer, n)
	})}
	go server.Serve(listener)
	fmt.Printf("\nlistening %s\n", listener.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// startServer starts the process that serves the model and returns its URL.
func startServer(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestK3_Server$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), benchServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			return "http://" + address
		}
	}
	b.Fatal("the server did not start")
	return ""
}

// benchSession starts a session that asks the server, with a tool that does nothing but has
// effects.
func benchSession(b *testing.B, url string, log journal.Log, rounds int, on func(agent.Event)) *agent.Session {
	b.Helper()
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: url})
	if err != nil {
		b.Fatal(err)
	}
	local, err := env.NewLocal(b.TempDir(), env.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	change := newTool("change", writes, func(_ context.Context, c *tool.Call) (tool.Result,
		error) {
		return tool.Text("changed " + c.ID), nil
	})
	s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}},
		Env: local, Journal: log,
		OnEvent: on, System: "You are being measured.", Policy: agent.Policy{MaxToolRounds: rounds},
		Profile: profile.Profile{Name: "test", Provider: "anthropic", Model: "claude-sonnet-5-5",
			Tools: []tool.Tool{change}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		if err := local.Close(); err != nil {
			b.Error(err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

// runRounds works on a task of so many rounds.
func runRounds(b *testing.B, s *agent.Session, rounds int) {
	b.Helper()
	result, err := s.Submit(context.Background(), "Change all files.")
	if err != nil || result.Reason != agent.ReasonMaxToolRounds || result.ToolRounds != rounds {
		b.Fatalf("the result is %+v, %v", result, err)
	}
}

// cpu returns the processor time of the process so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// barePost posts a body and reads the answer line by line, as the least that a round can be.
func barePost(b *testing.B, url string, body []byte) {
	b.Helper()
	resp, err := http.Post(url+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
	}
	if err := resp.Body.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchRounds counts the rounds of each session in a benchmark.
const benchRounds = 500

// BenchmarkK3_Round measures the processor time of a round. The goal is 0.25 ms without a journal
// and 0.35 ms with one on the disk. The ratio is that to a bare request of the same size, in the
// same run. With a journal the bare request comes between two bare appends with a sync, since each
// wait for the disk makes what follows slower: the processor sleeps and its caches are cold.
func BenchmarkK3_Round(b *testing.B) {
	url := startServer(b)
	dir := b.TempDir()
	for _, name := range []string{"off", "disk"} {
		b.Run(name, func(b *testing.B) {
			save := bareSync(b, name)
			var round, bare, synced time.Duration
			for i := range b.N {
				s := benchSession(b, url, benchLog(b, dir, name, i), benchRounds, func(agent.Event) {})
				began := cpu(b)
				runRounds(b, s, benchRounds)
				round += cpu(b) - began
				body := make([]byte, benchRounds*bodyOfRound/2) // the average
				began = cpu(b)
				for range benchRounds {
					save()
					barePost(b, url, body)
					save()
				}
				bare += cpu(b) - began
				began = cpu(b)
				for range benchRounds {
					save()
				}
				synced += cpu(b) - began
			}
			all := float64(b.N * benchRounds)
			b.ReportMetric(round.Seconds()*1000/all, "cpu-ms/round")
			b.ReportMetric(bare.Seconds()*1000/all, "cpu-ms/bare")
			if name == "disk" {
				b.ReportMetric(synced.Seconds()*1000/all, "cpu-ms/bare-sync")
			}
			b.ReportMetric(round.Seconds()/bare.Seconds(), "x-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// bareSync returns a function that appends half of what a round adds to a journal to a file, and
// syncs it. Without a journal it does nothing.
func bareSync(b *testing.B, name string) func() {
	b.Helper()
	if name == "off" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	half := make([]byte, journalOfRound/2)
	return func() {
		if _, err := f.Write(half); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// journalOfRound is about how many bytes a round adds to its journal.
const journalOfRound = 940

// bodyOfRound is about how many bytes a round adds to the body of a request.
const bodyOfRound = 330

// BenchmarkK4_Flat compares the processor time of late rounds with that of early ones, less what a
// bare client takes for bodies of the same size. The goal is 1.1.
func BenchmarkK4_Flat(b *testing.B) {
	url := startServer(b)
	const span, early, late = 1000, 500, 7500
	for range b.N {
		at, rounds := map[int]time.Duration{}, 0
		s := benchSession(b, url, nil, late+span, func(ev agent.Event) {
			if _, ok := ev.(*agent.ToolCallEnd); ok {
				if rounds++; rounds%500 == 0 {
					at[rounds] = cpu(b)
				}
			}
		})
		runRounds(b, s, late+span)
		net := func(from int) (all, bare float64) {
			body := make([]byte, (late+span)*bodyOfRound)
			began := cpu(b)
			for n := from; n < from+span; n++ {
				barePost(b, url, body[:n*bodyOfRound])
			}
			return (at[from+span] - at[from]).Seconds() * 1000 / span, (cpu(b) - began).Seconds() * 1000 / span
		}
		first, bareFirst := net(early)
		last, bareLast := net(late)
		b.ReportMetric(first, "cpu-ms/early")
		b.ReportMetric(bareFirst, "cpu-ms/bare-early")
		b.ReportMetric(last, "cpu-ms/late")
		b.ReportMetric(bareLast, "cpu-ms/bare-late")
		b.ReportMetric((last-(bareLast-bareFirst))/first, "late/early")
	}
}

// BenchmarkK8_Round reports how many bytes a round allocates. The goal is 24 kB. It also divides
// them by the round's eight events, with which the goal of 2 kB for an event cannot be compared:
// that figure would be at 3 kB when the round is at its goal. [BenchmarkK8_Event] measures what an
// event itself takes.
func BenchmarkK8_Round(b *testing.B) {
	url := startServer(b)
	dir := b.TempDir()
	for _, name := range []string{"off", "disk"} {
		b.Run(name, func(b *testing.B) {
			var used allocated
			events := 0
			for i := range b.N {
				s := benchSession(b, url, benchLog(b, dir, name, i), benchRounds, func(agent.Event) { events++ })
				used.by(func() { runRounds(b, s, benchRounds) })
			}
			used.report(b, "round", b.N*benchRounds)
			b.ReportMetric(float64(used.bytes)/float64(events), "B/event-of-round")
		})
	}
}

// BenchmarkK8_Event reports how many bytes an event allocates, in an answer of 10,000 deltas that a
// host gets through OnEvent. The goal is 2 kB.
func BenchmarkK8_Event(b *testing.B) {
	url := startServer(b) + "/text"
	var used allocated
	events := 0
	for range b.N {
		s := benchSession(b, url, nil, 1, func(agent.Event) { events++ })
		used.by(func() {
			if result, err := s.Submit(context.Background(), "Write."); err != nil ||
				len(result.Text) != benchDeltas*len("twenty bytes of text") {
				b.Fatalf("%d bytes of text, %v", len(result.Text), err)
			}
		})
	}
	used.report(b, "event", events)
}

// allocated counts what was allocated.
type allocated struct{ bytes, objects uint64 }

// by adds what do allocates.
func (a *allocated) by(do func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	a.bytes += after.TotalAlloc - before.TotalAlloc
	a.objects += after.Mallocs - before.Mallocs
}

// report reports the averages in place of the time.
func (a *allocated) report(b *testing.B, what string, n int) {
	b.ReportMetric(float64(a.bytes)/float64(n), "B/"+what)
	b.ReportMetric(float64(a.objects)/float64(n), "allocs/"+what)
	b.ReportMetric(0, "ns/op")
}

// benchLog returns the journal of a benchmark's session: none, or a new one on the disk.
func benchLog(b *testing.B, dir, name string, i int) journal.Log {
	b.Helper()
	if name == "off" {
		return nil
	}
	log, err := journal.NewDir(dir).Create(context.Background(), fmt.Sprintf("s%d-%d", b.N, i))
	if err != nil {
		b.Fatal(err)
	}
	return log
}
