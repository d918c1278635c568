// Package anthropic is the profile for Claude models: the prompt is in prompt.md.
package anthropic
