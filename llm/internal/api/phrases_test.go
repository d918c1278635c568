package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// tooLong maps servers to their messages for a conversation that is too long.
var tooLong = map[string]string{
	"Anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
	"Anthropic, limit": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease " +
		"input length or `max_tokens` and try again",
	"OpenAI": "Your input exceeds the context window of this model. Please adjust your input and " +
		"try again.",
	"OpenAI, chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in " +
		"131072 tokens.",
	"OpenAI, configured": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in " +
		"509178 tokens.",
	"OpenAI, message": "Invalid 'messages[3].content': string too long. Expected a string with maximum length " +
		"10485760, but got a string with length 12000000 instead.",
	"OpenAI, output": "Invalid 'input[7].output': string too long. Expected a string with maximum length " +
		"10485760, but got 12000000 instead.",
	"OpenAI, many": "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got " +
		"an array with length 2049 instead.",
	"Gemini":        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
	"Gemini, bytes": "Request payload size exceeds the limit: 20971520 bytes.",
	"xAI":           "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
	"Groq":          "Please reduce the length of the messages or completion.",
	"Cerebras": "Please reduce the length of the messages or completion. Current length is 10240 while " +
		"limit is 8192",
	"Mistral": "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 " +
		"maximum context length",
	"DeepSeek": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens " +
		"(66000 in the messages, 4000 in the completion).",
	"Kimi":              "Invalid request: Your request exceeded model token limit: 262144",
	"MiniMax":           "invalid params, context window exceeds limit",
	"Qwen":              "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
	"GLM":               "Prompt exceeds max length",
	"Doubao":            "Total tokens of image and text exceed max message tokens. Request id: 0217",
	"ERNIE":             "prompt tokens too long",
	"ERNIE, characters": "the max input characters is 20000",
	"SiliconFlow":       "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
	"Perplexity":        "The total length of all messages is too long.",
	"Cohere":            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
	"Poolside":          "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
	"OpenRouter": "This endpoint's maximum context length is 131072 tokens. However, you requested about " +
		"200000 tokens (200000 of text input).",
	"Fireworks": "The prompt is too long: 200000, model maximum context length: 131071",
	"Together": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 " +
		"`inputs` tokens and 512 `max_new_tokens`",
	"DeepInfra": "Requested input length 40000 exceeds maximum input length 32768",
	"SambaNova": "Requested generation length 1 is not possible! The provided prompt is 5000 tokens long, " +
		"so generating 1 tokens requires a sequence length of 5001, but the maximum supported sequence length is " +
		"just 4096!",
	"Copilot": "prompt token count of 130000 exceeds the limit of 128000",
	"Bedrock": "Input is too long for requested model.",
	"Bedrock, tokens": "The model returned the following errors: Too many input tokens. Max input tokens: 8192, " +
		"request input token count: 9000",
	"Bedrock, schema": "Malformed input request: expected maxLength: 400000, actual: 500000, please reformat " +
		"your input and try again.",
	"Databricks": "prompt token count (5000) cannot exceed 4096. Please reduce the prompt token count",
	"Workers AI": "The estimated number of input and maximum output tokens (40000) exceeded this model " +
		"context window limit (32768).",
	"watsonx": "Invalid input argument: the number of input tokens 5000 cannot exceed the total tokens " +
		"limit 4096 for this model",
	"LiteLLM": "litellm.ContextWindowExceededError: AnthropicError - {}",
	"vLLM": "This model's maximum context length is 262144 tokens. However, you requested 0 output " +
		"tokens and your prompt contains at least 262145 input tokens.",
	"vLLM, model": "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
	"vLLM, fit":   "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
	"vLLM, limit": "Input prompt (36893 tokens) is too long and exceeds limit of 1000",
	"SGLang":      "The input (400013 tokens) is longer than the model's context length (262144 tokens).",
	"SGLang, allowed": "Input length (40000 tokens) exceeds the maximum allowed length (32767 tokens). Use a " +
		"shorter input or enable --allow-auto-truncate.",
	"TGI":              "Input validation error: `inputs` must have less than 3072 tokens. Given: 5000",
	"TensorRT-LLM":     "The prompt length (5000) exceeds maximum input length (4096)",
	"LMDeploy":         "input length (40000) exceeds session_len (32768)",
	"TabbyAPI":         "Prompt length 5000 is greater than max_seq_len 4096",
	"Atlas":            "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
	"llama.cpp":        "the request exceeds the available context size, try increasing it",
	"llama-cpp-python": "Requested tokens (5000) exceed context window of 2048",
	"Ollama":           "prompt too long; exceeded max context length by 4 tokens",
	"Ollama, input":    "the input length exceeds the context length",
	"LM Studio": "The number of tokens to keep from the initial prompt is greater than the context length. " +
		"Try to load the model with a larger context length.",
	"LM Studio, overflow": "Trying to keep the first 4500 tokens when context the overflows. However, the model is " +
		"loaded with context length of only 4096 tokens.",
	"LM Studio, n_keep": "Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)",
}

// others maps servers to messages that mention tokens and lengths, but mean something else.
var others = map[string]struct {
	status  int
	message string
	kind    error
}{
	"a rate of tokens": {429,
		"Rate limit reached for tokens per min (TPM): Limit 30000, requested 40000. Too many input tokens.",
		llm.ErrRateLimit},
	"Bedrock's throttling": {429, "Too many tokens, please wait before trying again.", llm.ErrRateLimit},
	"no capacity":          {503, "the context window cache is being rebuilt", llm.ErrOverloaded},
	"the user's name": {400,
		"Invalid 'user': string too long. Expected a string with maximum length 64, but got 70 instead.",
		llm.ErrInvalidRequest},
	"a tool's name": {400,
		"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
		llm.ErrInvalidRequest},
	"max_tokens": {400,
		"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model",
		llm.ErrInvalidRequest},
	"llama.cpp without templates": {500, "tools param requires --jinja flag", llm.ErrInvalidRequest},
	"a fault":                     {500, "internal error", llm.ErrServer},
	"llama.cpp, a picture": {500,
		"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
		llm.ErrInvalidRequest},
	"llama.cpp, a damaged picture": {500, "failed to process image", llm.ErrInvalidRequest},
	"Ollama, a picture": {500,
		"Failed to create new sequence: failed to process inputs: this model is missing data required for image input",
		llm.ErrInvalidRequest},
	"OpenRouter, a picture": {404, "No endpoints found that support image input", llm.ErrInvalidRequest},
	"OpenRouter, tools":     {404, "No endpoints found that support tool use.", llm.ErrNotFound},
	"credit":                {400, "Your credit balance is too low to access the API.", llm.ErrQuota},
}

func refusal(t *testing.T, status int, body string) *llm.Error {
	t.Helper()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	_, err := read(t.Context(), call(client, "http://x.test"))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	return e
}

func TestI17_ContextTooLong(t *testing.T) {
	for server, message := range tooLong {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []int{400, 413, 422, 500} {
			if e := refusal(t, status, string(body)); e.Kind != llm.ErrContextLength || llm.Retryable(e) {
				t.Errorf("%s, %d: %v", server, status, e)
			}
		}
		if e := refusal(t, 400, message); e.Kind != llm.ErrContextLength {
			t.Errorf("%s, as text: %v", server, e)
		}
	}
	for name, c := range others {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": c.message}})
		if err != nil {
			t.Fatal(err)
		}
		if e := refusal(t, c.status, string(body)); e.Kind != c.kind {
			t.Errorf("%s: %v, want %v", name, e, c.kind)
		}
	}
}
