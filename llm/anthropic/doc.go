// Package anthropic implements [llm.Provider] for Anthropic's Messages API. It encodes requests append-only, so that prompt
// caches hit, and decodes streams as well as whole bodies.
package anthropic
