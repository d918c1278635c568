// Command attractor-otel is attractor with OpenTelemetry: its sessions report spans and metrics to
// where the variables of OpenTelemetry say. Without OTEL_EXPORTER_OTLP_ENDPOINT or another variable
// that asks for it, it reports nothing. docs/telemetry.md lists the variables.
package main
