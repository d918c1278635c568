package anthropic

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireEvent is any event of a stream. Its Type decides which members are set.
type wireEvent struct {
	Type         string          `json:"type"`
	Message      *wireMessage    `json:"message"`       // message_start
	Index        int             `json:"index"`         // content_block_*
	ContentBlock json.RawMessage `json:"content_block"` // content_block_start
	Delta        json.RawMessage `json:"delta"`         // content_block_delta, message_delta
	Usage        json.RawMessage `json:"usage"`         // message_delta
	Error        json.RawMessage `json:"error"`         // error
}

// wireMessage is a whole response, or the beginning of one in message_start.
type wireMessage struct {
	Type       string            `json:"type"`
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

// wireUsage is decoded several times: message_delta overrides only the members that it has.
type wireUsage struct {
	Input         api.Count `json:"input_tokens"` // without the cached part
	CacheRead     api.Count `json:"cache_read_input_tokens"`
	CacheCreation api.Count `json:"cache_creation_input_tokens"`
	Lifetimes     struct {
		Hour api.Count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output        api.Count `json:"output_tokens"`
	OutputDetails struct {
		Thinking api.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServerTools struct {
		Searches api.Count `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// wireBlock is the start of a content block.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // redacted_thinking
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Citations json.RawMessage `json:"citations"` // of a text; an array, empty at the start of a stream
}

// wireDelta is a piece of a content block.
type wireDelta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
}

func finishReason(stop string) llm.FinishReason {
	switch stop {
	case "pause_turn":
		return llm.FinishPause
	case "tool_use":
		return llm.FinishToolCalls
	}
	return api.FinishReason(stop, false)
}
