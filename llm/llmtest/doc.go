// Package llmtest helps testing with models: a scripted [Provider] that needs no network and runs in testing/synctest bubbles,
// and [Suite], which checks that a real provider keeps the stream contract of package llm. For the authors of providers there are
// also [Wire], which compares what is sent and received with golden files, [Encoding], which checks that requests only grow, and
// the readers of recorded answers, [Recordings] and [ErrorCases].
package llmtest
