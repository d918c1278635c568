// Package gemini has the profile for Gemini models.
//
// [Profile] has this project's own tools and the prompt in prompt.md and tools.md. [Native] has the
// same profile in the dialect of the vendor's own agent, gemini-cli, with native.md in place of
// tools.md. Both are for sessions whose provider is that of package llm/gemini.
//
// Neither has tools that fetch web pages or search the web. A host can add them, with rules for
// text that comes from the web.
package gemini
