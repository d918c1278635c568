// Package gemini implements [llm.Provider] for the Gemini API. [New] returns a [Provider] for an
// [llm.Client]; [Options] holds the key, and the URL of another server that speaks this format.
//
// A request of a conversation begins with the bytes of the one before, so that the vendor's
// implicit cache hits. With an [llm.Memo] only the new messages are encoded. Streams, whole bodies
// and arrays of chunks are decoded. Parameters that package llm has no field for are passed through
// [llm.Request.Options], also the name of a cached content.
//
// A provider makes one attempt; [llm.Retry] makes more. It knows no tools and no prompts: those for
// coding agents are in package profile/gemini. It neither makes cached contents nor uploads files,
// and does not sign in to Vertex AI.
package gemini
