// Package llmtest tests programs that call models.
//
//   - [Provider] is a model in the program, which responds from a script of [Step] values. It needs
//     no network and runs in testing/synctest bubbles.
//   - [Meter] checks that what was sent to a model does not change in later requests.
//   - [PipeClient] connects a provider to a model server in the same process, such as that of
//     package fakellm.
//
// A Provider skips the wire format: to test with that, use package fakellm. The conformance suite
// for authors of providers is package providertest.
package llmtest
