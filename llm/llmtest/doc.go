// Package llmtest helps testing with models: a scripted [Provider] that needs no network and runs in testing/synctest bubbles,
// and [Suite], which checks that a real provider keeps the stream contract of package llm.
package llmtest
