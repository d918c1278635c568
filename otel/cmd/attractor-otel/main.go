package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/command"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret"
)

// flushTime is the time for which the program waits at its end until everything is sent.
const flushTime = 5 * time.Second

func main() { os.Exit(run()) }

// run runs the command, and then sends the spans and metrics that are not sent yet.
func run() int {
	telemetry := sync.OnceValue(func() *pipeline { // a command without sessions needs none
		p, err := newPipeline(context.Background(), os.Getenv)
		if err != nil {
			warn("nothing is reported: ", err)
		}
		return p
	})
	var used atomic.Bool
	instrument := func(o *agent.Options, secrets *secret.Masker) {
		used.Store(true)
		if p := telemetry(); p != nil {
			options := otel.FromEnvironment(os.Getenv)
			options.Tracers, options.Meters = p.tracers, p.meters
			options.Masker, options.Parent = secrets, parent(os.Getenv)
			otel.Instrument(o, options)
		}
	}
	code := command.Program{Configure: func(c *attractor.Config) { c.Instrument = instrument }}.Main()
	if used.Load() {
		if err := telemetry().close(flushTime); err != nil {
			warn("spans or metrics are lost: ", err)
		}
	}
	return code
}

// maxWarning limits a warning, in bytes. It may quote a receiver's answer.
const maxWarning = 1000

// warn prints a warning on a line of its own.
func warn(what string, err error) {
	text := strings.Join(strings.Fields(sanitize.Text(err.Error())), " ")
	if len(text) > maxWarning {
		text = strings.ToValidUTF8(text[:maxWarning], "") + "..."
	}
	fmt.Fprintln(os.Stderr, "attractor-otel: warning: "+what+text)
}

// parent returns the span that the program that started this one has put into the environment.
func parent(getenv func(string) string) trace.SpanContext {
	fields := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), fields))
}
