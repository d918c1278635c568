package oracle

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/attractor-go/attractor/llm"
	openairesponses "github.com/attractor-go/attractor/llm/openai"
)

func responsesProvider(t testing.TB, client *http.Client) llm.Provider {
	p, err := openairesponses.New(openairesponses.Options{APIKey: "k", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openaiClient(client *http.Client) openai.Client {
	return openai.NewClient(option.WithAPIKey("k"), option.WithHTTPClient(client), option.WithMaxRetries(0),
		option.WithBaseURL("https://api.test/v1"))
}

// responsesSDK returns the outcome of OpenAI's SDK. For a stream it is assembled by the SDK's
// accumulator (for the socket, whose events are the same), with the text joined from the deltas.
func responsesSDK(t testing.TB, client *http.Client, stream bool) (outcome, error) {
	sdk := openaiClient(client)
	params := responses.ResponseNewParams{Model: "m",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("x")}}
	if !stream {
		r, err := sdk.Responses.New(t.Context(), params)
		if err != nil {
			return outcome{Failed: true}, err
		}
		return responseOutcome(r), nil
	}
	events := sdk.Responses.NewStreaming(t.Context(), params)
	var acc responses.ResponseAccumulator
	text := ""
	for events.Next() {
		ev := events.Current()
		if ev.Type == "response.output_text.delta" || ev.Type == "response.refusal.delta" {
			text += ev.Delta
		}
		var same responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(ev.RawJSON()), &same); err != nil {
			return outcome{Failed: true}, err
		}
		if err := acc.AddEvent(same); err != nil {
			return outcome{Failed: true}, err
		}
	}
	if err := events.Err(); err != nil {
		return outcome{Failed: true}, err
	}
	r, err := acc.ReconstructedResponse()
	if err != nil {
		return outcome{Failed: true}, err
	}
	o := responseOutcome(r)
	o.Text = text
	return o, nil
}

// responseOutcome returns the outcome of a response as the SDK has it.
func responseOutcome(r *responses.Response) outcome {
	u := r.Usage
	o := outcome{ID: r.ID, Model: r.Model, Usage: llm.Usage{Input: int(u.InputTokens),
		CacheRead:  int(u.InputTokensDetails.CachedTokens),
		CacheWrite: int(u.InputTokensDetails.CacheWriteTokens), Output: int(u.OutputTokens),
		Reasoning: int(u.OutputTokensDetails.ReasoningTokens)}}
	refused := false
	for _, item := range r.Output {
		switch item.Type {
		case "message":
			for _, c := range item.Content {
				o.Text += c.Text + c.Refusal
				refused = refused || c.Type == "refusal"
			}
		case "web_search_call":
			if item.Action.Type == "search" { // opening pages costs nothing
				o.Usage.Searches++
			}
		case "reasoning":
			for _, s := range item.Summary {
				o.Thinking += s.Text
			}
			for _, c := range item.Content {
				o.Thinking += c.Text
			}
		case "function_call":
			o.Calls = append(o.Calls, call{item.CallID, item.Name, item.Arguments.OfString})
		case "custom_tool_call":
			o.Calls = append(o.Calls, call{item.CallID, item.Name, item.Input})
		}
	}
	o.Failed = r.Status == responses.ResponseStatusFailed
	o.Finish, o.Raw = responseFinish(r, len(o.Calls) > 0, refused)
	return o
}

// responseFinish returns the finish reason in our terms. The API has no reason for a refusal or for
// calls.
func responseFinish(r *responses.Response, calls, refused bool) (llm.FinishReason, string) {
	switch {
	case r.Status == responses.ResponseStatusIncomplete && r.IncompleteDetails.Reason == "max_output_tokens":
		return llm.FinishLength, r.IncompleteDetails.Reason
	case r.Status == responses.ResponseStatusIncomplete && r.IncompleteDetails.Reason == "content_filter":
		return llm.FinishContentFilter, r.IncompleteDetails.Reason
	case r.Status != responses.ResponseStatusCompleted:
		return llm.FinishOther, string(r.Status)
	case calls:
		return llm.FinishToolCalls, "completed"
	case refused:
		return llm.FinishContentFilter, "refusal"
	}
	return llm.FinishStop, "completed"
}
