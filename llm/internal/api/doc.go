// Package api is what all providers share of HTTP: one POST with its timers, the answer's headers, its body as events or as a
// whole, and the classification of everything that can go wrong into an [llm.Error].
package api
