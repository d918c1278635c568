package providers_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
)

// modelProcess is the environment variable that makes a test process a scripted model.
const modelProcess = "PROVIDERS_MODEL_PROCESS"

// TestModelProcess serves a scripted model until its standard input ends, when another test starts
// it as a process.
func TestModelProcess(t *testing.T) {
	if os.Getenv(modelProcess) == "" {
		t.Skip("this is a process for the benchmarks")
	}
	text := strings.Repeat("a word or two more ", 60)
	web := httptest.NewServer(fakellm.New(func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: text} },
		fakellm.Options{}))
	defer web.Close()
	fmt.Println("model at " + web.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
}

// startModel starts a scripted model in another process, so that its memory is not counted here,
// and returns its URL.
func startModel(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestModelProcess$")
	cmd.Env = append(os.Environ(), modelProcess+"=1")
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
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "model at "); ok {
			return url
		}
	}
	b.Fatal("the model did not start")
	return ""
}

// BenchmarkK8_Request reports what a streamed request over loopback allocates, in a conversation of
// 100 rounds with an answer of 80 deltas. Bare is the same for a client of net/http that sends the
// same bytes and reads the answer's lines.
func BenchmarkK8_Request(b *testing.B) {
	url := startModel(b)
	for _, v := range append(vendors(), compatible()) {
		b.Run(v.name, func(b *testing.B) {
			kind, err := providers.Find(v.name)
			if err != nil {
				b.Fatal(err)
			}
			sent := &lastRequest{}
			p, err := kind.New(providers.Config{APIKey: "k", BaseURL: url + v.version})
			if err != nil {
				b.Fatal(err)
			}
			recording, err := kind.New(providers.Config{APIKey: "k", BaseURL: url + v.version,
				HTTPClient: &http.Client{Transport: sent}})
			if err != nil {
				b.Fatal(err)
			}
			req := longRequest(v.model)
			request(b, recording, req)
			req.Memo = new(llm.Memo)
			bare := allocatedBy(b, func() { sent.again(b) })
			ours := allocatedBy(b, func() { request(b, p, req) })
			b.ReportAllocs()
			for b.Loop() {
				request(b, p, req)
			}
			b.ReportMetric(ours, "B/request")
			b.ReportMetric(bare, "B/bare")
			b.ReportMetric(ours-bare, "B/request-bare")
		})
	}
}

// BenchmarkK4_Request reports the processor time of a request that adds a round to a conversation
// of 8,000 rounds, and its ratio to one that adds a round to 1,000. Nobody reads the requests'
// bodies.
func BenchmarkK4_Request(b *testing.B) {
	for _, v := range append(vendors(), compatible()) {
		b.Run(v.name, func(b *testing.B) {
			kind, err := providers.Find(v.name)
			if err != nil {
				b.Fatal(err)
			}
			p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://model.test",
				HTTPClient: &http.Client{Transport: deaf{}}})
			if err != nil {
				b.Fatal(err)
			}
			short, long := newGrowing(p, v.model, 1000), newGrowing(p, v.model, 8000)
			best := [2]time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for i, g := range []*growing{short, long} {
					const n = 20
					begin := time.Now()
					for range n {
						g.round(b)
					}
					best[i] = min(best[i], time.Since(begin)/n)
				}
			}
			b.ReportMetric(float64(best[1].Nanoseconds()), "ns/request")
			b.ReportMetric(float64(best[1])/float64(best[0]), "x-round-1000")
		})
	}
}

// deaf refuses requests without reading them.
type deaf struct{}

func (deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// growing is a conversation that becomes longer with each request.
type growing struct {
	client llm.Client
	req    *llm.Request
}

func newGrowing(p llm.Provider, model string, rounds int) *growing {
	g := &growing{client: llm.Client{Providers: []llm.Provider{p}}, req: longRequest(model)}
	g.req.Memo = new(llm.Memo)
	g.req.Messages = slices.Grow(g.req.Messages, 2*rounds+1000)
	for len(g.req.Messages) < 2*rounds {
		g.req.Messages = append(g.req.Messages, round(len(g.req.Messages))...)
	}
	return g
}

func (g *growing) round(b *testing.B) {
	g.req.Messages = append(g.req.Messages, round(len(g.req.Messages))...)
	g.req.Memo.Seal(g.req.Messages)
	if _, err := g.client.Complete(b.Context(), g.req); !errors.Is(err, llm.ErrInvalidRequest) {
		b.Fatal(err)
	}
}

// allocatedBy returns how many bytes a call of f allocates, on average.
func allocatedBy(b *testing.B, f func()) float64 {
	b.Helper()
	const n = 200
	f()
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / n
}

func longRequest(model string) *llm.Request {
	req := &llm.Request{Model: model,
		Tools: []llm.ToolDefinition{{Name: "look", Description: strings.Repeat("Looks. ", 200),
			Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
		Messages: []llm.Message{llm.System(strings.Repeat("Be careful. ", 100)), llm.User("Go.")}}
	for i := range 100 {
		req.Messages = append(req.Messages, round(i)...)
	}
	return req
}

func round(n int) []llm.Message {
	id := fmt.Sprintf("call_%d", n)
	return []llm.Message{{Role: llm.RoleAssistant,
		Parts: llm.Parts{llm.ToolCall{ID: id, Name: "look", Args: `{"path":"a/b.go"}`}}},
		llm.ToolResults(llm.ToolResult{CallID: id, Content: llm.TextParts(strings.Repeat("a line of code\n", 20))})}
}

func request(b *testing.B, p llm.Provider, req *llm.Request) {
	client := llm.Client{Providers: []llm.Provider{p}}
	if resp, err := client.Complete(b.Context(), req); err != nil || resp.Text() == "" {
		b.Fatalf("%+v, %v", resp, err)
	}
}

// lastRequest records a request, to send it again without a provider.
type lastRequest struct {
	url    string
	header http.Header
	body   []byte
}

func (l *lastRequest) RoundTrip(r *http.Request) (*http.Response, error) {
	l.url, l.header = r.URL.String(), r.Header.Clone()
	var err error
	if l.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(l.body))
	return http.DefaultTransport.RoundTrip(r)
}

func (l *lastRequest) again(b *testing.B) {
	req, err := http.NewRequest(http.MethodPost, l.url, bytes.NewReader(l.body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header = l.header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		if _, _, err := lines.ReadLine(); err == io.EOF {
			return
		} else if err != nil {
			b.Fatal(err)
		}
	}
}
