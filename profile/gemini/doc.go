// Package gemini is the profile for Gemini models: the prompt is in prompt.md. Native is the same in the dialect of the vendor's own
// agent, with the prompt in native.md.
//
// The profile has no tools that fetch web pages or search the web, which a host can add; what comes from there would need rules of its
// own about what it may do.
package gemini
