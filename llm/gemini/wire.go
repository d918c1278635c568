package gemini

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireChunk is a GenerateContentResponse: one chunk of a stream, or a whole response.
type wireChunk struct {
	Candidates     []wireCandidate  `json:"candidates"`
	PromptFeedback *wireFeedback    `json:"promptFeedback"`
	Usage          wireUsage        `json:"usageMetadata"`
	ModelVersion   string           `json:"modelVersion"`
	ResponseID     string           `json:"responseId"`
	Error          *json.RawMessage `json:"error"`
}

type wireCandidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []wirePart `json:"parts"`
	} `json:"content"`
	Grounding     *json.RawMessage `json:"groundingMetadata"`
	FinishReason  string           `json:"finishReason"`
	FinishMessage string           `json:"finishMessage"`

	// The following members have no type here and are passed on. A null counts as missing.
	URLs      *json.RawMessage `json:"urlContextMetadata"`
	Citations *json.RawMessage `json:"citationMetadata"`
	Safety    *json.RawMessage `json:"safetyRatings"`
	Logprobs  *json.RawMessage `json:"logprobsResult"`
}

// more reports whether a candidate has members that are only passed on.
func (c *wireCandidate) more() bool {
	return c.Grounding != nil || c.URLs != nil || c.Citations != nil || c.Safety != nil || c.Logprobs != nil
}

type wireFeedback struct {
	BlockReason        string `json:"blockReason"`
	BlockReasonMessage string `json:"blockReasonMessage"`
}

// wireParts has only the parts of a chunk, for those that are sent back verbatim.
type wireParts struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
	} `json:"candidates"`
}

// wirePart is a known part. Other parts are sent back verbatim.
type wirePart struct {
	Text      *string   `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Call      *wireCall `json:"functionCall"`
}

type wireCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	// Only Vertex AI sends calls in pieces, and only on request.
	PartialArgs  *json.RawMessage `json:"partialArgs"`
	WillContinue bool             `json:"willContinue"`
}

// wireUsage counts tokens. A chunk's counts are totals so far, and a later chunk may omit some.
type wireUsage struct {
	Prompt     api.Count `json:"promptTokenCount"` // includes the cached part
	Cached     api.Count `json:"cachedContentTokenCount"`
	ToolUse    api.Count `json:"toolUsePromptTokenCount"` // what the API's own tools added to the prompt
	Candidates api.Count `json:"candidatesTokenCount"`    // without the thoughts
	Thoughts   api.Count `json:"thoughtsTokenCount"`
}

// use takes over the counts of a later chunk.
func (u *wireUsage) use(v wireUsage) {
	for _, c := range []struct{ to, from *api.Count }{{&u.Prompt, &v.Prompt}, {&u.Cached, &v.Cached},
		{&u.ToolUse, &v.ToolUse},
		{&u.Candidates, &v.Candidates}, {&u.Thoughts, &v.Thoughts}} {
		if *c.from > 0 {
			*c.to = *c.from
		}
	}
}

func (u *wireUsage) total() llm.Usage {
	return llm.Usage{Input: int(u.Prompt + u.ToolUse), CacheRead: int(min(u.Cached, u.Prompt)),
		Output: int(u.Candidates + u.Thoughts), Reasoning: int(u.Thoughts)}
}

// failedReason returns the kind of error that a finish reason stands for, or nil. A malformed call,
// a call of an unknown tool, and a malformed response are accidents: another attempt usually
// succeeds.
func failedReason(reason string) error {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE":
		return llm.ErrStream
	case "MISSING_THOUGHT_SIGNATURE":
		return llm.ErrInvalidRequest
	}
	return nil
}
