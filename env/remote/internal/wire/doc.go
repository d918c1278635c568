// Package wire defines the messages between package remote and package serve, and how they are
// written and read. docs/env-protocol.md describes the same for other programs.
//
// A [Link] is one connection. It carries any number of [Stream] values at a time, each for one
// operation: a request from the near side, and what the two sides say about it. Hashicorp's yamux
// multiplexes them, with flow control for each.
package wire
