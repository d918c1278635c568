// Package anthropic has the profile for Claude models.
//
// [Profile] has this project's own tools and the prompt in prompt.md and tools.md. [Native] has the
// same profile in the dialect of the vendor's own agent, Claude Code, with native.md in place of
// tools.md. Both are for sessions whose provider is that of package llm/anthropic. Neither has a
// tool for web pages: a host that wants one adds it, as [NativeWebFetch] shows.
package anthropic
