// Package llmtest tests programs that talk to models. [Provider] answers from a script of [Step] values, needs no network and runs in
// testing/synctest bubbles. [Recorder] and [Replayer] keep real HTTP traffic, without its secrets, and play it again. [Meter] checks
// that what was sent to a model is never sent otherwise again. [PipeClient] connects a provider to a model server in the same process,
// such as that of package fakellm.
//
// Authors of providers find their conformance suite in package providertest.
package llmtest
