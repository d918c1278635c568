package agent

import (
	"errors"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// faultRecord holds a failed attempt of a model call.
type faultRecord struct {
	modelCallEpoch
	Fault
	Shown shown `json:"shown,omitzero"`
}

// Fault describes a failed attempt of a model call.
type Fault struct {
	Kind      string `json:"kind"` // llm.KindOf
	Text      string `json:"text"`
	Provider  string `json:"provider,omitempty"`
	Code      string `json:"code,omitempty"`
	Status    int    `json:"status,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	// Tokens and Window are the provider's numbers for a request that is too long.
	Tokens int `json:"tokens,omitempty"`
	Window int `json:"window,omitempty"`
	// Undecoded reports that the response made no sense, although it came whole.
	Undecoded bool `json:"undecoded,omitempty"`
	// Rejected is what of the conversation the provider does not take, nil if it said nothing of
	// it.
	Rejected *llm.Rejection `json:"rejected,omitempty"`
	// RetryAt is when the next attempt is due, zero if there is none.
	RetryAt time.Time     `json:"retry_at,omitzero"`
	Delay   time.Duration `json:"delay,omitempty"`
	Usage   llm.Usage     `json:"usage,omitzero"`
	Cost    float64       `json:"cost_usd,omitempty"`
	// Discarded holds the texts that had arrived and do not count, one for each block.
	Discarded []string `json:"discarded,omitempty"`
	// Searches holds the searches of the web that the vendor had run.
	Searches []llm.WebSearch `json:"searches,omitempty"`
	Latency  time.Duration   `json:"latency,omitempty"`
}

// Err returns the fault as an *llm.Error of its kind.
func (f *Fault) Err() error {
	return &llm.Error{
		Kind:      llm.KindNamed(f.Kind),
		Provider:  f.Provider,
		Code:      f.Code,
		Message:   f.Text,
		Status:    f.Status,
		Tokens:    f.Tokens,
		Window:    f.Window,
		RequestID: f.RequestID,
		Final:     !f.Retryable,
		Undecoded: f.Undecoded,
		Rejected:  f.Rejected,
	}
}

// tooLong reports whether the request did not fit into the model's window.
func (f *Fault) tooLong() bool { return llm.KindNamed(f.Kind) == llm.ErrContextLength }

// faultOf returns the record of a failed attempt.
func faultOf(err error, discarded []string, latency time.Duration) faultRecord {
	f := Fault{Kind: llm.KindOf(err), Text: err.Error(), Discarded: discarded, Latency: latency}
	var e *llm.Error
	if errors.As(err, &e) {
		f.Provider, f.Code, f.Status, f.RequestID = e.Provider, e.Code, e.Status, e.RequestID
		f.Tokens, f.Window, f.Rejected, f.Undecoded = e.Tokens, e.Window, e.Rejected, e.Undecoded
		f.Retryable = llm.Retryable(err)
		switch {
		case e.Message != "":
			f.Text = e.Message
		case e.Err != nil:
			f.Text = e.Err.Error()
		}
	}
	f.Text = validText(f.Text)
	return faultRecord{Fault: f}
}
