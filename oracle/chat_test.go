package oracle

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/openaichat"
)

func chatProvider(t testing.TB, client *http.Client) llm.Provider {
	p, err := openaichat.New(openaichat.Options{APIKey: "k", BaseURL: "https://api.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// chatSDK returns the outcome of OpenAI's SDK for Chat Completions, assembled by its accumulator.
// Reasoning is not part of the format, so it is read from the members that the SDK does not know.
func chatSDK(t testing.TB, client *http.Client, stream bool) (outcome, error) {
	sdk := openaiClient(client)
	params := openai.ChatCompletionNewParams{Model: "m",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}}
	if !stream {
		r, err := sdk.Chat.Completions.New(t.Context(), params)
		if err != nil {
			return outcome{Failed: true}, err
		}
		o := chatOutcome(r)
		if len(r.Choices) > 0 {
			o.Thinking = reasoning(r.Choices[0].Message.JSON.ExtraFields)
		}
		return o, nil
	}
	var acc openai.ChatCompletionAccumulator
	thinking, last := "", openai.CompletionUsage{}
	chunks := sdk.Chat.Completions.NewStreaming(t.Context(), params)
	for chunks.Next() {
		chunk := chunks.Current()
		if chunk.JSON.Usage.Valid() {
			last = chunk.Usage
		}
		if acc.ID != "" {
			// the accumulator refuses a stream whose id changes, as behind a gateway that changes
			// servers
			chunk.ID = acc.ID
		}
		if !acc.AddChunk(chunk) {
			return outcome{Failed: true}, errors.New("the accumulator takes no chunk " + chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 {
			thinking += reasoning(chunk.Choices[0].Delta.JSON.ExtraFields)
		}
	}
	if err := chunks.Err(); err != nil {
		return outcome{Failed: true}, err
	}
	o := chatOutcome(&acc.ChatCompletion)
	o.Thinking = thinking
	o.last, o.total = chatUsage(last), int(last.TotalTokens)
	if o.Raw == "" {
		return outcome{Failed: true}, errCut
	}
	return o, nil
}

// chatOutcome returns the outcome of a completion as the SDK has it.
func chatOutcome(r *openai.ChatCompletion) outcome {
	u := chatUsage(r.Usage)
	o := outcome{ID: r.ID, Model: r.Model, Usage: u, last: u, total: int(r.Usage.TotalTokens)}
	if len(r.Choices) == 0 {
		return outcome{Failed: true}
	}
	c := r.Choices[0]
	o.Text = c.Message.Content + c.Message.Refusal
	for _, tc := range c.Message.ToolCalls {
		o.Calls = append(o.Calls, call{tc.ID, tc.Function.Name, tc.Function.Arguments})
	}
	o.Raw = c.FinishReason
	switch {
	case o.Raw == "length":
		o.Finish = llm.FinishLength
	case o.Raw == "content_filter", c.Message.Refusal != "":
		o.Finish = llm.FinishContentFilter
	case len(o.Calls) > 0:
		o.Finish = llm.FinishToolCalls
	case o.Raw == "stop", o.Raw == "tool_calls":
		o.Finish = llm.FinishStop
	default:
		o.Finish = llm.FinishOther
	}
	return o
}

func chatUsage(u openai.CompletionUsage) llm.Usage {
	return llm.Usage{Input: int(u.PromptTokens), CacheRead: int(u.PromptTokensDetails.CachedTokens),
		CacheWrite: int(u.PromptTokensDetails.CacheWriteTokens), Output: int(u.CompletionTokens),
		Reasoning: int(u.CompletionTokensDetails.ReasoningTokens)}
}

// reasoning returns the first member with reasoning.
func reasoning(extra map[string]respjson.Field) string {
	for _, member := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := extra[member]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}
