// Package otel reports what sessions do to OpenTelemetry: spans and metrics by the semantic
// conventions for generative AI. It uses the hooks of package agent and nothing private, and needs
// only OpenTelemetry's API: the program chooses the SDK and the exporters.
//
//	o := agent.Options{ ... }
//	otel.Instrument(&o, otel.Options{})
//	session, err := agent.New(ctx, o)
//
// Each input of a session is a span invoke_agent, below the span that the context of Submit has.
// Below it are a span chat for each model call, with all its attempts, a span execute_tool for each
// tool call, and spans for the time in which a person is asked. The inputs of a subagent are below
// the tool call that gave them.
//
// Requests to models and to MCP servers, and commands, get the trace context (package
// tracecontext). No text of people, models or tools is reported unless [Options].Content asks for
// it, and then it is masked.
package otel
