package api

import (
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// phraseKind returns the kind of an error by its text. Only this and rejection.go read such texts.
// Servers report some failures without a code of their own: as an invalid request, as an internal
// error, or within a response. It looks only at those errors, because rate limits also mention
// tokens and limits.
func phraseKind(kind error, status int, message string) error {
	if kind == nil && status >= 300 {
		kind = statusKind(status)
	}
	text := strings.Join(strings.Fields(strings.ToLower(message)), " ")
	switch {
	case (kind == llm.ErrServer || kind == llm.ErrNotFound) && says(text, imagePhrases[:]):
		return llm.ErrInvalidRequest
	// some servers fail with an exception when they check the length
	case kind == llm.ErrServer && (status == 500 || status < 300):
		switch {
		case tellsLength(text):
			return llm.ErrContextLength
		case says(text, templatePhrases[:]), strings.Contains(text, "tools param requires --jinja"): // llama.cpp
			return llm.ErrInvalidRequest
		}
		return nil
	case kind == llm.ErrAccessDenied && strings.Contains(text, "security token included in the request"):
		return llm.ErrAuthentication // AWS says so of credentials that have expired or are none
	case kind != nil && kind != llm.ErrInvalidRequest:
		return nil
	case strings.Contains(text, "credit balance is too low"):
		return llm.ErrQuota
	case strings.Contains(text, "content filtering policy"):
		return llm.ErrContentFilter
	case tellsLength(text):
		return llm.ErrContextLength
	}
	return nil
}

// tellsLength reports whether a message, in lower case and with single spaces, says that the
// conversation is too long.
func tellsLength(text string) bool { return says(text, lengthPhrases[:]) }

// says reports whether a text has one of the phrases.
func says(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// templatePhrases lists what servers say when the template of a model does not take a conversation,
// which they report as their own failure.
var templatePhrases = [...]string{
	// llama.cpp, vLLM and LM Studio, from the templates of Mistral and Gemma
	"roles must alternate",
	// llama.cpp, from the template of Devstral
	"system message must be at the beginning",
	"jinja exception", "error rendering prompt with jinja template", "chat template", // llama.cpp, LM Studio
	"template error:", // Text Generation Inference
}

// imagePhrases lists what servers say of a picture that they do not take, and report as their own
// failure or as a missing model.
var imagePhrases = [...]string{
	"image input is not supported", "failed to process image", // llama.cpp
	"failed to process inputs: ", // Ollama
	"support image input",        // OpenRouter
}

// lengthPhrases lists what servers say when a conversation is too long. Each is part of a message
// that a server is known to send; the tests have the whole messages.
var lengthPhrases = [...]string{
	// Several servers.
	"prompt is too long", "prompt too long", "input too long", "input is too long",
	"context window", "context length", "context limit", "context size", "context_length_exceeded",
	"context_window_exceeded",
	"contextwindowexceeded", "maximum prompt length", "max_seq_len", "max_model_len", "max message tokens",
	"token limit exceeded", "model token limit", "prompt token count", "input token count", "input tokens exceed",
	"too many input tokens", "too many tokens in", "too many tokens: total number", "reduce the length of the",
	"maximum input length", "maximum allowed input length", "exceeds the maximum allowed length", "exceeds max length",
	"exceeds the maximum number of tokens", "maximum model length", "maximum supported sequence length",

	"exceeded max context",               // Ollama
	"exceed_context_size",                // llama.cpp
	"context the overflows",              // LM Studio, spelled as in the message
	"n_keep (",                           // LM Studio
	"is too long and exceeds limit",      // vLLM
	"session_len",                        // LMDeploy
	"max_new_tokens` must be <=",         // Text Generation Inference
	"`inputs` must have less than",       // Text Generation Inference
	"range of input length",              // Qwen
	"length of all messages is too long", // Perplexity
	"total tokens limit",                 // watsonx
	"prompt tokens too long",             // ERNIE
	"max input characters",               // ERNIE
	"expected maxlength",                 // Bedrock, of models with a schema
	"content': string too long",          // OpenAI: a message, or the output of a call, longer than any window
	"text': string too long", "output': string too long", "'input': string too long",
	"'messages': array too long", "'input': array too long",
	"request payload size exceeds", // Gemini
}
