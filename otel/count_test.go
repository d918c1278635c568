package otel_test

import (
	"context"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// counter counts the spans that are open.
type counter struct{ begun, ended atomic.Int64 }

func countSpans(l *lab) *counter {
	c := new(counter)
	l.tracers.RegisterSpanProcessor(c)
	return c
}

func (c *counter) open() int64                                     { return c.begun.Load() - c.ended.Load() }
func (c *counter) OnStart(context.Context, sdktrace.ReadWriteSpan) { c.begun.Add(1) }
func (c *counter) OnEnd(sdktrace.ReadOnlySpan)                     { c.ended.Add(1) }
func (c *counter) Shutdown(context.Context) error                  { return nil }
func (c *counter) ForceFlush(context.Context) error                { return nil }
