// Package mcptest has only tests: package mcp with the reference servers, with the protocol's
// conformance suite, and with servers that misbehave.
package mcptest
