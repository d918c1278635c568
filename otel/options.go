package otel

import (
	"strings"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/secret"
)

// Options configure [Instrument]. The zero value reports to the global providers, without content.
type Options struct {
	Tracers trace.TracerProvider // nil means the global one
	Meters  metric.MeterProvider // nil means the global one
	// Agent is the name of the agent in spans; empty means attractor.
	Agent string
	// Conventions chooses the version of the semantic conventions; empty means [Conventions1_41].
	Conventions Conventions
	// Content adds texts to spans: prompts, answers, arguments and results of tools. Secrets are
	// masked by Masker.
	Content bool
	// ContentLimit limits the bytes of text in an attribute; 0 means 64 KiB. Of a conversation, the
	// newest messages are kept.
	ContentLimit int
	// Masker masks secrets in texts. Nil means one that knows only the formats of keys, not the
	// values of a program's secrets.
	Masker *secret.Masker
	// Parent is the parent of the spans of inputs whose context has no span: the span of the
	// program that started this one, for instance.
	Parent trace.SpanContext
	// Closed keeps the trace context to this program: requests and commands do not get it.
	Closed bool
}

// FromEnvironment returns the options that variables of OpenTelemetry choose.
// OTEL_SEMCONV_STABILITY_OPT_IN with gen_ai_latest_experimental chooses the newest conventions.
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT with true, span_only or span_and_event adds
// content.
func FromEnvironment(getenv func(string) string) Options {
	var o Options
	for _, name := range strings.Split(getenv("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		if strings.TrimSpace(name) == "gen_ai_latest_experimental" {
			o.Conventions = ConventionsGenAI0_1
		}
	}
	switch strings.ToLower(strings.TrimSpace(getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"))) {
	case "true", "span_only", "span_and_event":
		o.Content = true
	}
	return o
}
