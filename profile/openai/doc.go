// Package openai is the profile for GPT models: the prompt is in prompt.md, the part of it that speaks of tools in tools.md and, for
// the dialect of OpenAI's own agent, in native.md.
package openai
