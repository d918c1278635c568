// Package openai implements [llm.Provider] for OpenAI's Responses API. [New] returns a [Provider]
// for an [llm.Client]; [Options] holds the key, and the URL of another server that speaks this
// format. Chat Completions is package openaichat.
//
// The server stores nothing: every request carries the whole conversation, with the model's
// reasoning in the encrypted form that the API provides for this. A request begins with the bytes
// of the one before, so that the vendor's prompt cache hits. With an [llm.Memo] only the new
// messages are encoded. Streams and whole bodies are decoded. Parameters that package llm has no
// field for are passed through [llm.Request.Options].
//
// A provider makes one attempt; [llm.Retry] makes more. It knows no tools and no prompts: those for
// coding agents are in package profile/openai. It has neither background responses nor uploads of
// files.
package openai
