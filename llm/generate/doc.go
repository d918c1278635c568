// Package generate makes model calls for programs that need no session: [Generate] and [Stream] run a loop with tools, [Object]
// and [StreamObject] return Go values. Each step of the loop is retried. Rounds, a stop condition and timeouts limit the whole.
//
// Package agent does not use it: a session has a loop of its own.
package generate
