// Package generate makes model calls for programs that need no session: a question, a text, a few
// tools, a value of a Go type.
//
// [Generate] and [Stream] run a loop with tools and return a [Result]. [Object] returns a Go value.
// [Func] makes a [Tool] of a function. Each step of the loop is retried. Rounds, a stop condition
// and timeouts limit the whole ([Options]).
//
// It keeps no journal, asks nobody for permission and brings no tools: that is package agent, whose
// sessions have a loop of their own and do not use this one.
package generate
