// Package openai has the profile for GPT models.
//
// [Profile] has this project's own tools, with apply_patch for edits, and the prompt in prompt.md
// and tools.md. [Native] has the same profile in the dialect of the vendor's own agent, Codex, with
// native.md in place of tools.md. Both are for sessions whose provider is that of package
// llm/openai. Neither has a tool for web pages: a host that wants one adds it.
package openai
