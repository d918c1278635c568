package otel_test

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/otel/internal/receiver"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

var update = flag.Bool("update", false, "rewrite the golden trees in testdata")

func TestMain(m *testing.M) {
	if os.Getenv(serverVar) != "" {
		os.Exit(runServer())
	}
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// model is the model of the tests, of which the catalog knows the prices.
const model = "claude-sonnet-4-5"

// lab is a session's surroundings: a model over HTTP, a directory, and a receiver of what it
// reports.
type lab struct {
	*testing.T
	server   *fakellm.Server
	receiver *receiver.Receiver
	dir      string
	agent.Options
	tracers *sdktrace.TracerProvider
	meters  *sdkmetric.MeterProvider
}

func newLab(t *testing.T, o fakellm.Options, script ...fakellm.Turn) *lab {
	t.Helper()
	return newLabFor(t, o, fakellm.Script(script...))
}

func newLabFor(t *testing.T, o fakellm.Options, answers fakellm.Model) *lab {
	t.Helper()
	l := &lab{T: t, server: fakellm.New(answers, o), receiver: receiver.New(t), dir: t.TempDir()}
	server := httptest.NewServer(l.server)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	provider, err := anthropic.New(anthropic.Options{APIKey: "sk-none", BaseURL: server.URL,
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(l.dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	l.Options = agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get},
		Profile: claude.Profile(), Env: local,
		Model: model, Retry: llm.RetryPolicy{Base: time.Millisecond, Cap: 2 * time.Millisecond}}
	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(l.receiver.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(l.receiver.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	l.tracers = sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	l.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	return l
}

// start starts the session, with its spans.
func (l *lab) start(o otel.Options) *agent.Session {
	l.Helper()
	o.Tracers, o.Meters = l.tracers, l.meters
	otel.Instrument(&l.Options, o)
	s, err := agent.New(l.Context(), l.Options)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

// submit runs a session for one input and closes it.
func (l *lab) submit(o otel.Options) *agent.Result {
	l.Helper()
	s := l.start(o)
	result, err := s.Submit(l.Context(), "do it")
	if err != nil {
		l.Log(err) // some tests want one
	}
	if err := s.Close(); err != nil {
		l.Error(err)
	}
	l.flush()
	return result
}

// flush sends what the session has reported.
func (l *lab) flush() {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.tracers.Shutdown(ctx); err != nil {
		l.Error(err)
	}
	if err := l.meters.Shutdown(ctx); err != nil {
		l.Error(err)
	}
}

// golden compares the tree of spans with a file in testdata.
func (l *lab) golden(name string) {
	l.Helper()
	got := l.receiver.Tree(stable())
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			l.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		l.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		l.Errorf("the spans are not those of %s (-update rewrites it):\n%s", file, got)
	}
}

// stable returns what a golden tree shows of attributes: ids become names in the order in which
// they come, and what differs between runs is left out.
func stable() func(key, value string) string {
	sessions := map[string]string{}
	return func(key, value string) string {
		switch key {
		case "gen_ai.conversation.id", "attractor.session.id", "attractor.session.parent_id":
			if sessions[value] == "" {
				sessions[value] = "session-" + string(rune('A'+len(sessions)))
			}
			return sessions[value]
		case "server.port", "gen_ai.response.time_to_first_chunk", "attractor.delay_ms":
			return "(some)"
		case "gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens",
			"gen_ai.usage.cache_creation.input_tokens", "attractor.cost_usd":
			return "(some)" // they depend on the length of the system prompt
		case "gen_ai.system_instructions":
			return "(the prompt)"
		}
		return value
	}
}

// span returns the only span with a name.
func (l *lab) span(name string) map[string]string {
	l.Helper()
	var found []map[string]string
	for _, s := range l.receiver.Spans() {
		if s.Name == name {
			found = append(found, receiver.Attributes(s.Attributes))
		}
	}
	if len(found) != 1 {
		l.Fatalf("there are %d spans %s in\n%s", len(found), name, l.receiver.Tree(stable()))
	}
	return found[0]
}

func use(id, name string, args any) fakellm.Call {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fakellm.Call{ID: id, Name: name, Args: data}
}

type object = map[string]any
