// Package gemini has the profile for Gemini models, with its prompt in prompt.md. Native has the same profile in the dialect of the
// vendor's own agent, described in native.md.
//
// The profile has no tools that fetch web pages or search the web. A host can add them, with rules for text that comes from the web.
package gemini
