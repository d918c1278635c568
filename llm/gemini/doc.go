// Package gemini implements [llm.Provider] for the Gemini API. It encodes requests append-only, so that implicit caching hits,
// and decodes streams, whole bodies and arrays of chunks.
package gemini
