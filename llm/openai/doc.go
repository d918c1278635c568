// Package openai is the provider of OpenAI's Responses API: requests encoded append-only, so that prompt caches hold, and answers
// decoded from streams or from whole bodies. Nothing is kept on the server: every request carries the whole conversation, and
// the model's reasoning in the encrypted form that the API hands out for that.
package openai
