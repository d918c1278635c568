// Package tracecontext carries a W3C trace context in a context.Context, so that other programs can
// add their spans to the trace.
//
//	ctx = tracecontext.With(ctx, tracecontext.Fields{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
//
// What is done with that context passes the fields on: requests to models and to remote MCP servers
// have them as headers, requests of MCP have them in params._meta, and commands of tools have them
// as the variables TRACEPARENT and TRACESTATE. A middleware of package llm or tool is the place to
// set them; module otel has such middleware. Without fields nothing is added. The package makes no
// spans and samples nothing.
package tracecontext
