package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// pipeline holds the providers that send spans and metrics. A nil one sends nothing.
type pipeline struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	ends    []func(context.Context) error
	errors  failures
}

// failures counts the errors of the SDK and keeps the first. It prints nothing, because a session
// may have the terminal.
type failures struct {
	mu    sync.Mutex
	first error
	count int
}

// Handle implements OpenTelemetry's ErrorHandler.
func (f *failures) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.first == nil {
		f.first = err
	}
}

// newPipeline returns the providers that variables choose, or nil if they choose none.
func newPipeline(ctx context.Context, getenv func(string) string) (*pipeline, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	spans, err := spanExporter(ctx, getenv)
	if err != nil {
		return nil, err
	}
	reader, err := metricExporter(ctx, getenv)
	if err != nil {
		return nil, err
	}
	if spans == nil && reader == nil {
		return nil, nil
	}
	p := &pipeline{tracers: noop.NewTracerProvider(), meters: metricnoop.NewMeterProvider()}
	api.SetErrorHandler(&p.errors)
	api.SetLogger(logr.Discard())
	about, err := describe(ctx)
	if err != nil {
		p.errors.Handle(err) // the resource has everything else
	}
	if spans != nil {
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(about))
		p.tracers, p.ends = provider, append(p.ends, provider.Shutdown)
	}
	if reader != nil {
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(reader)),
			sdkmetric.WithResource(about))
		p.meters, p.ends = provider, append(p.ends, provider.Shutdown)
	}
	return p, nil
}

// describe returns the resource that describes this program. OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES replace its attributes.
func describe(ctx context.Context) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", "attractor")}
	if info, ok := debug.ReadBuildInfo(); ok {
		attrs = append(attrs, attribute.String("service.version", info.Main.Version))
	}
	return resource.New(ctx, resource.WithAttributes(attrs...), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// exporter returns the exporter and the protocol that the variables choose for a signal, TRACES or
// METRICS: otlp, console or none. Without a choice it is otlp if there is an endpoint.
func exporter(signal string, getenv func(string) string) (kind, protocol string, err error) {
	kind = strings.ToLower(strings.TrimSpace(getenv("OTEL_" + signal + "_EXPORTER")))
	if kind == "" {
		if kind = "none"; getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
			getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" {
			kind = "otlp"
		}
	}
	switch kind {
	case "otlp", "console", "none":
	default:
		return "", "", fmt.Errorf("OTEL_%s_EXPORTER is %q; it can be otlp, console or none", signal, kind)
	}
	name := "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"
	if protocol = getenv(name); protocol == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
		protocol = cmp.Or(getenv(name), "http/protobuf")
	}
	if kind == "otlp" && protocol != "http/protobuf" && protocol != "grpc" {
		return "", "", fmt.Errorf("%s is %q; it can be http/protobuf or grpc", name, protocol)
	}
	if kind == "otlp" {
		err = checkEndpoint(signal, getenv)
	}
	return kind, protocol, err
}

// checkEndpoint refuses an endpoint that is no URL. The SDK would send everything, with the
// headers, to a receiver on this machine instead. The error does not have the value, which may have
// a key.
func checkEndpoint(signal string, getenv func(string) string) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := strings.TrimSpace(getenv(name))
		if value == "" {
			continue
		}
		if u, err := url.Parse(value); err != nil || u.Host == "" && u.Scheme != "unix" {
			return fmt.Errorf("%s is no URL; write it as http://HOST:PORT", name)
		}
		return nil
	}
	return nil
}

// spanExporter returns the exporter of spans, nil for none. The console is standard error: standard
// output is for answers.
func spanExporter(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	switch kind, protocol, err := exporter("TRACES", getenv); {
	case err != nil || kind == "none":
		return nil, err
	case kind == "console":
		return stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
	case protocol == "grpc":
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// metricExporter returns the exporter of metrics, nil for none.
func metricExporter(ctx context.Context, getenv func(string) string) (sdkmetric.Exporter, error) {
	switch kind, protocol, err := exporter("METRICS", getenv); {
	case err != nil || kind == "none":
		return nil, err
	case kind == "console":
		return stdoutmetric.New(stdoutmetric.WithWriter(os.Stderr))
	case protocol == "grpc":
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

// close sends what is not sent yet and ends everything, within a limit. It returns the first of all
// errors, and the number of the others.
func (p *pipeline) close(limit time.Duration) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan error, len(p.ends))
	for _, end := range p.ends { // at the same time, so that each has the whole limit
		go func() { done <- end(ctx) }()
	}
	for range p.ends {
		select {
		case err := <-done:
			if err != nil {
				p.errors.Handle(err)
			}
		case <-ctx.Done():
			p.errors.Handle(fmt.Errorf("the receiver did not answer within %v", limit))
		}
	}
	p.errors.mu.Lock()
	defer p.errors.mu.Unlock()
	if p.errors.count < 2 {
		return p.errors.first
	}
	return fmt.Errorf("%w (and %d more errors)", p.errors.first, p.errors.count-1)
}
