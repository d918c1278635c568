// Package gemini is the provider of the Gemini API: requests encoded append-only, so that implicit caching holds, and answers
// decoded from streams, from whole bodies and from arrays of chunks.
package gemini
