package oracle

import (
	"net/http"
	"testing"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/attractor-go/attractor/llm"
	messages "github.com/attractor-go/attractor/llm/anthropic"
)

func messagesProvider(t testing.TB, client *http.Client) llm.Provider {
	p, err := messages.New(messages.Options{APIKey: "k", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func messagesClient(client *http.Client) anthropic.Client {
	return anthropic.NewClient(option.WithAPIKey("k"), option.WithHTTPClient(client), option.WithMaxRetries(0),
		option.WithBaseURL("https://api.test"))
}

// messagesSDK returns the outcome of Anthropic's SDK, assembled by its accumulator.
func messagesSDK(t testing.TB, client *http.Client, stream bool) (outcome, error) {
	sdk := messagesClient(client)
	params := anthropic.MessageNewParams{Model: "m", MaxTokens: 16,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}}
	if !stream {
		m, err := sdk.Messages.New(t.Context(), params)
		if err != nil {
			return outcome{Failed: true}, err
		}
		return messageOutcome(m), nil
	}
	var m anthropic.Message
	events, whole := sdk.Messages.NewStreaming(t.Context(), params), false
	for events.Next() {
		ev := events.Current()
		whole = whole || ev.Type == "message_stop"
		if err := m.Accumulate(ev); err != nil {
			return outcome{Failed: true}, err
		}
	}
	if err := events.Err(); err != nil {
		return outcome{Failed: true}, err
	}
	if !whole {
		return outcome{Failed: true}, errCut
	}
	return messageOutcome(&m), nil
}

// messageOutcome returns the outcome of a message as the SDK has it.
func messageOutcome(m *anthropic.Message) outcome {
	u := m.Usage
	o := outcome{ID: m.ID, Model: string(m.Model), Raw: string(m.StopReason), Finish: messageFinish(m.StopReason),
		Usage: llm.Usage{Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
			CacheRead:  int(u.CacheReadInputTokens),
			CacheWrite: int(u.CacheCreationInputTokens), Output: int(u.OutputTokens),
			Reasoning: int(u.OutputTokensDetails.ThinkingTokens),
			Searches:  int(u.ServerToolUse.WebSearchRequests)}}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			o.Text += b.Text
		case "thinking":
			o.Thinking += b.Thinking
		case "tool_use":
			o.Calls = append(o.Calls, call{b.ID, b.Name, string(b.Input)})
		}
	}
	return o
}

func messageFinish(r anthropic.StopReason) llm.FinishReason {
	switch r {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		return llm.FinishStop
	case anthropic.StopReasonMaxTokens:
		return llm.FinishLength
	case anthropic.StopReasonModelContextWindowExceeded:
		return llm.FinishContextLength
	case anthropic.StopReasonPauseTurn:
		return llm.FinishPause
	case anthropic.StopReasonToolUse:
		return llm.FinishToolCalls
	case anthropic.StopReasonRefusal:
		return llm.FinishContentFilter
	}
	return llm.FinishOther
}
