// Package openai implements [llm.Provider] for OpenAI's Responses API. It encodes requests append-only, so that prompt caches
// hit, and decodes streams as well as whole bodies. The server stores nothing: every request carries the whole conversation, with
// the model's reasoning in the encrypted form that the API provides for this.
package openai
