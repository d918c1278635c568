// Package generate has conveniences over an [llm.Client] for programs that want an answer and no session: [Generate] and [Stream]
// with a loop that runs tools, [Object] and [StreamObject] for answers that are Go values. Each step of the loop is retried,
// and the whole is bounded by rounds, a stop condition and timeouts. Package agent does not use it: a session has a loop of its
// own.
package generate
