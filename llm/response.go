package llm

import "time"

// Response holds a model's whole response.
type Response struct {
	ID       string  `json:"id,omitempty"`
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Message  Message `json:"message"`
	Finish   Finish  `json:"finish"`
	Usage    Usage   `json:"usage"`
	// RateLimit holds the limits from the HTTP headers, nil if there were none.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
}

// Text returns the response's text parts, concatenated.
func (r *Response) Text() string { return r.Message.Parts.Text() }

// ToolCalls returns the response's calls, in order.
func (r *Response) ToolCalls() []ToolCall { return r.Message.Parts.ToolCalls() }

// Reasoning returns the response's readable thinking.
func (r *Response) Reasoning() string { return r.Message.Parts.Reasoning() }

// Finish tells why the model stopped.
type Finish struct {
	Reason FinishReason `json:"reason"`
	Raw    string       `json:"raw,omitempty"` // the provider's own word
}

// FinishReason names why a model stopped, in the same way for all providers.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"         // cut off: MaxTokens or the model's limit was reached
	FinishContextLength FinishReason = "context_length" // cut off: the model's window is full
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter" // refused, by the model or by a filter
	FinishPause         FinishReason = "pause"          // the model continues when the response is sent back unchanged
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// Usage counts tokens in the same way for all providers. Input is the whole input, cached or not,
// of all rounds if the vendor ran tools in between. Output is everything billed as output,
// including reasoning.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read,omitempty"`  // part of Input
	CacheWrite int `json:"cache_write,omitempty"` // part of Input
	// CacheWriteLong is the part of CacheWrite that was kept for the longer time.
	CacheWriteLong int `json:"cache_write_long,omitempty"`
	Output         int `json:"output"`
	Reasoning      int `json:"reasoning,omitempty"` // part of Output
	// Searches counts the web searches that the vendor bills.
	Searches int `json:"searches,omitempty"`
}

// Add returns u plus v.
func (u Usage) Add(v Usage) Usage { return u.plus(v, 1) }

// Sub returns u minus v.
func (u Usage) Sub(v Usage) Usage { return u.plus(v, -1) }

func (u Usage) plus(v Usage, times int) Usage {
	return Usage{
		Input:          u.Input + times*v.Input,
		CacheRead:      u.CacheRead + times*v.CacheRead,
		CacheWrite:     u.CacheWrite + times*v.CacheWrite,
		CacheWriteLong: u.CacheWriteLong + times*v.CacheWriteLong,
		Output:         u.Output + times*v.Output,
		Reasoning:      u.Reasoning + times*v.Reasoning,
		Searches:       u.Searches + times*v.Searches,
	}
}

// Total returns the sum of all input and output tokens.
func (u Usage) Total() int { return u.Input + u.Output }

// CacheHitRatio returns the share of the input that came from the provider's cache, from 0 to 1.
func (u Usage) CacheHitRatio() float64 {
	if u.Input == 0 {
		return 0
	}
	return float64(u.CacheRead) / float64(u.Input)
}

// RateLimit holds the limits that a provider reported. A negative count is unknown.
type RateLimit struct {
	RequestsLimit     int       `json:"requests_limit"`
	RequestsRemaining int       `json:"requests_remaining"`
	TokensLimit       int       `json:"tokens_limit"`
	TokensRemaining   int       `json:"tokens_remaining"`
	Reset             time.Time `json:"reset,omitzero"` // the later of the two resets
}
