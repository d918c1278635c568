// Package providertest tests implementations of [llm.Provider]. [Suite] checks that a provider keeps the stream contract of
// package llm, and [Contract] checks one stream. [Wire] compares what a provider sends and receives with golden files, and
// [Encoding] checks that requests are only appended to. [Recordings] and [ErrorCases] read responses that were recorded from real
// servers.
package providertest
