package receiver

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Receiver keeps the spans and metrics that programs send to its URL.
type Receiver struct {
	URL string

	mu       sync.Mutex
	spans    []*trace.Span
	metrics  map[string]*metrics.Metric
	resource map[string]string
	scopes   map[string]bool
	requests int
}

// New starts a receiver. It ends with the test.
func New(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{metrics: map[string]*metrics.Metric{}, resource: map[string]string{}, scopes: map[string]bool{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// GRPC starts a receiver of OTLP over gRPC beside it and returns its URL. It ends with the test.
func (r *Receiver) GRPC(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(server, traceService{receiver: r})
	collectormetrics.RegisterMetricsServiceServer(server, metricsService{receiver: r})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

type traceService struct {
	collectortrace.UnimplementedTraceServiceServer
	receiver *Receiver
}

func (s traceService) Export(_ context.Context,
	in *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	s.receiver.addSpans(in)
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

type metricsService struct {
	collectormetrics.UnimplementedMetricsServiceServer
	receiver *Receiver
}

func (s metricsService) Export(_ context.Context,
	in *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	s.receiver.addMetrics(in)
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

// ServeHTTP implements [http.Handler] for the requests of exporters.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 64<<20))
	if err == nil && req.Header.Get("Content-Type") != "application/x-protobuf" {
		err = fmt.Errorf("the content type is %q", req.Header.Get("Content-Type"))
	}
	var answer proto.Message
	if err == nil {
		switch req.URL.Path {
		case "/v1/traces":
			var in collectortrace.ExportTraceServiceRequest
			if err = proto.Unmarshal(body, &in); err == nil {
				r.addSpans(&in)
				answer = &collectortrace.ExportTraceServiceResponse{}
			}
		case "/v1/metrics":
			var in collectormetrics.ExportMetricsServiceRequest
			if err = proto.Unmarshal(body, &in); err == nil {
				r.addMetrics(&in)
				answer = &collectormetrics.ExportMetricsServiceResponse{}
			}
		default:
			err = fmt.Errorf("there is no %s", req.URL.Path)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, _ := proto.Marshal(answer) // an empty message
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(data) // the exporter may be gone
}

func (r *Receiver) addSpans(in *collectortrace.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	for _, rs := range in.ResourceSpans {
		for _, a := range rs.Resource.GetAttributes() {
			r.resource[a.Key] = Value(a.Value)
		}
		for _, ss := range rs.ScopeSpans {
			r.scopes[ss.Scope.GetName()+" "+ss.SchemaUrl] = true
			r.spans = append(r.spans, ss.Spans...)
		}
	}
}

func (r *Receiver) addMetrics(in *collectormetrics.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	for _, rm := range in.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				r.metrics[m.Name] = m // the newest has the whole sum
			}
		}
	}
}

// Requests returns the number of requests so far.
func (r *Receiver) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// Resource returns the attributes that describe the programs.
func (r *Receiver) Resource() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.resource)
}

// Scopes returns the names of the instrumentation, each with the URL of its schema.
func (r *Receiver) Scopes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.scopes))
}

// Spans returns the spans so far, by their beginnings.
func (r *Receiver) Spans() []*trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(r.spans),
		func(a, b *trace.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
}

// Metrics returns the metrics by their names.
func (r *Receiver) Metrics() map[string]*metrics.Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.metrics)
}

// Value returns a value as text.
func Value(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprintf("%.6g", v.DoubleValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_ArrayValue:
		var all []string
		for _, e := range v.ArrayValue.Values {
			all = append(all, Value(e))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return v.String()
}

// Attributes returns attributes as a map.
func Attributes(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = Value(a.Value)
	}
	return all
}

// Tree returns the spans as a tree, without ids and times. Show returns what to write of an
// attribute; an empty text leaves it out.
func (r *Receiver) Tree(show func(key, value string) string) string {
	spans := r.Spans()
	known := map[string]bool{}
	below := map[string][]*trace.Span{}
	for _, s := range spans {
		known[hex.EncodeToString(s.SpanId)] = true
	}
	for _, s := range spans {
		parent := hex.EncodeToString(s.ParentSpanId)
		if !known[parent] {
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	var text func(s *trace.Span, indent string) string
	children := func(id, indent string) string {
		var list []string
		for _, s := range below[id] {
			list = append(list, text(s, indent))
		}
		return strings.Join(list, "")
	}
	text = func(s *trace.Span, indent string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s%s (%s)%s\n", indent, s.Name,
			strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")), status(s))
		writeAttributes(&b, indent+"    ", s.Attributes, show)
		for _, e := range s.Events {
			fmt.Fprintf(&b, "%s    * %s\n", indent, e.Name)
			writeAttributes(&b, indent+"        ", e.Attributes, show)
		}
		return b.String() + children(hex.EncodeToString(s.SpanId), indent+"  ")
	}
	return children("", "")
}

func status(s *trace.Span) string {
	if s.Status.GetCode() == trace.Status_STATUS_CODE_UNSET {
		return ""
	}
	return " " + strings.ToLower(strings.TrimPrefix(s.Status.Code.String(), "STATUS_CODE_")) + ": " + s.Status.Message
}

func writeAttributes(b *strings.Builder, indent string, list []*common.KeyValue, show func(key, value string) string) {
	all := Attributes(list)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if value := show(key, all[key]); value != "" {
			fmt.Fprintf(b, "%s%s=%s\n", indent, key, value)
		}
	}
}
