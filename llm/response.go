package llm

import "time"

// Response is a model's whole answer.
type Response struct {
	ID       string  `json:"id,omitempty"`
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Message  Message `json:"message"`
	Finish   Finish  `json:"finish"`
	Usage    Usage   `json:"usage"`
	// RateLimit is what the response's headers said, nil when they said nothing.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
}

// Text joins the answer's text parts.
func (r *Response) Text() string { return r.Message.Parts.Text() }

// ToolCalls returns the answer's calls in order.
func (r *Response) ToolCalls() []ToolCall { return r.Message.Parts.ToolCalls() }

// Reasoning joins the answer's readable thinking.
func (r *Response) Reasoning() string { return r.Message.Parts.Reasoning() }

// Finish says why the model stopped.
type Finish struct {
	Reason FinishReason `json:"reason"`
	Raw    string       `json:"raw,omitempty"` // in the provider's words
}

// FinishReason is the same for all providers.
type FinishReason string

// The reasons to stop.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"         // cut off: the answer may not be longer
	FinishContextLength FinishReason = "context_length" // cut off: the model's window is full
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter" // refused, by the model or by a filter
	FinishPause         FinishReason = "pause"          // the model goes on when it is sent the answer as it is
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// Usage counts tokens. It means the same for all providers: Input is the whole input, cached or not; Output is everything
// billed as output, reasoning included.
type Usage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read,omitempty"`  // part of Input
	CacheWrite int `json:"cache_write,omitempty"` // part of Input
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning,omitempty"` // part of Output
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Output:     u.Output + v.Output,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// Sub returns the difference: what was used since v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		Input:      u.Input - v.Input,
		CacheRead:  u.CacheRead - v.CacheRead,
		CacheWrite: u.CacheWrite - v.CacheWrite,
		Output:     u.Output - v.Output,
		Reasoning:  u.Reasoning - v.Reasoning,
	}
}

// Total is all tokens, in and out.
func (u Usage) Total() int { return u.Input + u.Output }

// CacheHitRatio returns the part of the input that came from the provider's cache, 0 to 1.
func (u Usage) CacheHitRatio() float64 {
	if u.Input == 0 {
		return 0
	}
	return float64(u.CacheRead) / float64(u.Input)
}

// RateLimit is a provider's word on what is left. A negative count is unknown.
type RateLimit struct {
	RequestsLimit     int       `json:"requests_limit"`
	RequestsRemaining int       `json:"requests_remaining"`
	TokensLimit       int       `json:"tokens_limit"`
	TokensRemaining   int       `json:"tokens_remaining"`
	Reset             time.Time `json:"reset,omitzero"` // the later of the two resets
}
