// Package openai has the profile for GPT models. The prompt is in prompt.md, its part about tools in tools.md and, for the dialect of
// OpenAI's own agent, in native.md.
package openai
