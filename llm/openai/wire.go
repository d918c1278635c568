package openai

import (
	"encoding/json"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireHead holds what all events have in common. An error outside of an event has only the second
// member.
type wireHead struct {
	Type  string          `json:"type"`
	Error json.RawMessage `json:"error"`
	// Number counts the events of a response, if the server does.
	Number json.RawMessage `json:"sequence_number"`
}

// number returns the event's sequence number, or -1 without one.
func (h *wireHead) number() int {
	n, err := strconv.Atoi(string(h.Number))
	if err != nil {
		return -1
	}
	return n
}

// wireEvent is any known event. Its type decides which members are set.
type wireEvent struct {
	Type         string          `json:"type"`
	Response     *wireResponse   `json:"response"` // response.created and the like, and the last event
	OutputIndex  int             `json:"output_index"`
	ItemID       string          `json:"item_id"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Item         json.RawMessage `json:"item"` // output_item.*
	Part         *wirePart       `json:"part"` // content_part.*, reasoning_summary_part.*
	Delta        string          `json:"delta"`
}

// wireResponse is a whole response, or its beginning.
type wireResponse struct {
	Object     string            `json:"object"`
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *wireUsage        `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type wireUsage struct {
	Input        api.Count `json:"input_tokens"` // all of it
	InputDetails struct {
		Cached     api.Count `json:"cached_tokens"`
		CacheWrite api.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        api.Count `json:"output_tokens"` // all of it
	OutputDetails struct {
		Reasoning api.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// wireItem is an output item.
type wireItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	Status    string      `json:"status"`  // completed, incomplete
	Phase     string      `json:"phase"`   // message
	Content   []*wirePart `json:"content"` // message, reasoning
	Summary   []*wirePart `json:"summary"` // reasoning
	Encrypted string      `json:"encrypted_content"`
	CallID    string      `json:"call_id"`
	Name      string      `json:"name"`
	Arguments string      `json:"arguments"` // function_call
	Input     string      `json:"input"`     // custom_tool_call
}

// wirePart is a piece of a message or of reasoning.
type wirePart struct {
	Type    string `json:"type"` // output_text, refusal, summary_text, reasoning_text
	Text    string `json:"text"`
	Refusal string `json:"refusal"`

	Annotations json.RawMessage `json:"annotations"` // of output_text: what it cites
}

func (u *wireUsage) total() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	return llm.Usage{Input: int(u.Input), Output: int(u.Output),
		CacheRead: int(min(u.InputDetails.Cached, u.Input)), CacheWrite: int(min(u.InputDetails.CacheWrite, u.Input)),
		Reasoning: int(u.OutputDetails.Reasoning)}
}
