// Package receiver is for tests: a server that takes OTLP over HTTP, decodes the protobuf and keeps
// what it got.
package receiver
