// Package anthropic is the provider of Anthropic's Messages API: requests encoded append-only, so that prompt caches hold, and
// answers decoded from streams or from whole bodies.
package anthropic
