package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// CutOff reports whether an answer was cut off before its end.
func CutOff(parts llm.Parts, finish llm.FinishReason) bool {
	switch finish {
	case "", llm.FinishStop, llm.FinishPause, llm.FinishContentFilter:
		return false
	case llm.FinishToolCalls:
		return len(parts.ToolCalls()) == 0
	}
	return true // the length, or an unknown reason
}

// Empty reports whether an answer has neither text nor calls nor media.
func Empty(parts llm.Parts) bool { return !slices.ContainsFunc(parts, counts) }

func counts(part llm.Part) bool {
	switch p := part.(type) {
	case llm.Text:
		return strings.TrimSpace(p.Text) != ""
	case llm.ToolCall, llm.Media:
		return true
	}
	return false
}

// TornCall reports whether an answer that was cut off ends within a call.
func TornCall(parts llm.Parts) bool {
	for _, part := range slices.Backward(parts) {
		if counts(part) {
			call, ok := part.(llm.ToolCall)
			return ok && (call.Free || !json.Valid([]byte(call.Args)))
		}
	}
	return false
}

// ContextFull returns an error if an answer ended because the model's window was full. Its text is
// as useless as that of a failed attempt.
func ContextFull(resp *llm.Response) error {
	if resp.Finish.Reason != llm.FinishContextLength {
		return nil
	}
	return failed(resp, llm.Error{Kind: llm.ErrContextLength,
		Message: "the model's window was full before its answer was finished"})
}

// failed returns the error of an answer that is of no use, with what the answer says of itself.
func failed(resp *llm.Response, err llm.Error) error {
	err.Provider, err.Code, err.Usage, err.Final = resp.Provider, resp.Finish.Raw, resp.Usage, true
	return &err
}

// Useless returns an error for an answer of a side call that was refused or for which the
// window was too small.
func Useless(resp *llm.Response) error {
	if resp.Finish.Reason == llm.FinishContentFilter {
		return failed(resp, llm.Error{Kind: llm.ErrContentFilter,
			Message: "the model or its provider refused to answer"})
	}
	return ContextFull(resp)
}

// LastText returns the text of the answer to a side call, with a note if it was cut off.
func LastText(resp *llm.Response) string {
	text := strings.ToValidUTF8(resp.Text(), "\uFFFD")
	if CutOff(resp.Message.Parts, resp.Finish.Reason) && strings.TrimSpace(text) != "" {
		text += "\n[The text was cut off here.]"
	}
	return text
}
