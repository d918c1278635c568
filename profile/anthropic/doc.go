// Package anthropic has the profile for Claude models, with its prompt in prompt.md. Native has the same profile in the dialect of the
// vendor's own agent, described in native.md.
package anthropic
