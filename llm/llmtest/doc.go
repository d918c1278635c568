// Package llmtest tests programs that call models. [Provider] responds from a script of [Step] values, needs no network and runs
// in testing/synctest bubbles. [Recorder] and [Replayer] record real HTTP traffic, without its secrets, and replay it. [Meter]
// checks that what was sent to a model does not change in later requests. [PipeClient] connects a provider to a model server in
// the same process, such as that of package fakellm.
//
// Package providertest has the conformance suite for authors of providers.
package llmtest
