// Package anthropic implements [llm.Provider] for Anthropic's Messages API. [New] returns a
// [Provider] for an [llm.Client]; [Options] holds the key, and the URL of another server that
// speaks this format.
//
// A request of a conversation begins with the bytes of the one before, so that the vendor's prompt
// cache hits. With an [llm.Memo] only the new messages are encoded. Streams and whole bodies are
// decoded. Parameters that package llm has no field for are passed through [llm.Request.Options].
//
// A provider makes one attempt; [llm.Retry] makes more. It knows no tools and no prompts: those for
// coding agents are in package profile/anthropic. It has neither batches nor uploads of files.
package anthropic
