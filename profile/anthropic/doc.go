// Package anthropic is the profile for Claude models: the prompt is in prompt.md. Native is the same in the dialect of the vendor's own
// agent, with the prompt in native.md.
package anthropic
