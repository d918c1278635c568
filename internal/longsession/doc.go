// Package longsession writes journals of long sessions, for tests and benchmarks. It runs real
// sessions with a scripted model.
package longsession
