// Package tool is what a model can call: a [Tool], the [Registry] of a session, and the pipeline that runs one call (look up,
// validate, authorize, run, truncate).
//
// What is declared to the model and what can be executed is the same registry. Tools are stateless; what one must remember
// within a session is reached through [Call].Session.
//
// A [Result] has the text for the model, and beside it what programs want to know: Changes of files, what a command Ran to, Structured
// JSON. Nobody has to read the text for that.
package tool
