// Package api holds what all providers share: one POST request with its timeouts, the response's
// headers, its body as events or as a whole, and the classification of every failure as an
// [llm.Error].
package api
