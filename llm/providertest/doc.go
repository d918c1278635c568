// Package providertest tests implementations of [llm.Provider], for authors of providers.
//
// [Suite] checks that a provider keeps the stream contract of package llm, against the scripted
// server of package fakellm and its faults. It is the test to begin with. [Contract] checks a
// single stream. [Wire] compares what a provider sends and receives with golden files, and
// [Encoding] checks that requests are only appended to. [Recordings] and [ErrorCases] read
// responses that were recorded from real servers.
//
// Nothing here calls a real API. A provider whose API fakellm does not speak needs a server of its
// own: it can be tested by Wire, Contract and Encoding, but not by Suite.
package providertest
