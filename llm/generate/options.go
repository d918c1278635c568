package generate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Options configure a generation. Model and either Prompt or Messages are required. Fields that
// [llm.Request] also has mean the same there.
type Options struct {
	Provider, Model string
	// Prompt is the user's text, Messages a whole conversation. Setting both or neither is an
	// [llm.ErrInvalidRequest].
	Prompt   string
	Messages []llm.Message
	// System becomes the first message.
	System string

	Tools []Tool
	// ToolChoice, if required or named, holds for the first step only, because the model could
	// otherwise never finish.
	ToolChoice llm.ToolChoice
	Sequential bool
	// MaxToolRounds limits how often calls are run and their results sent to the model: nil means
	// once, 0 never. There is at most one model call more. See [Rounds].
	MaxToolRounds *int
	// StopWhen, if set, is called after each round with all steps so far. If it returns true, the
	// loop ends without another model call.
	StopWhen func(steps []Step) bool

	Effort            string
	MaxTokens         int
	Temperature, TopP *float64
	Stop              []string
	// Format is the response's format. [Object] takes its schema from it, if set, instead of from
	// its type.
	Format *llm.Format
	// ObjectMode selects how Object requests its value.
	ObjectMode ObjectMode

	CacheKey        string
	NoCache         bool
	ProviderOptions map[string]json.RawMessage // see Options of llm.Request

	// Retry sets how often and when a failed model call is tried again, for each step separately.
	// OnRetry, if set, is called before each retry; see [llm.Retry].
	Retry   llm.RetryPolicy
	OnRetry func(attempt int, err error, delay time.Duration)
	// Timeout limits the whole generation, StepTimeout the model call of a step with its retries. 0
	// means no limit. Exceeding one is an [llm.ErrTimeout].
	Timeout, StepTimeout time.Duration
}

// Rounds returns a pointer to n, for Options.MaxToolRounds.
func Rounds(n int) *int { return &n }

func (o *Options) rounds() int {
	if o.MaxToolRounds == nil {
		return 1
	}
	return *o.MaxToolRounds
}

// request returns the request of the first step.
func (o *Options) request() (*llm.Request, error) {
	switch {
	case o.Prompt != "" && len(o.Messages) > 0:
		return nil, llm.Errorf(llm.ErrInvalidRequest,
			"both a prompt and messages were given: put the prompt into the messages")
	case o.Prompt == "" && len(o.Messages) == 0:
		return nil, llm.Errorf(llm.ErrInvalidRequest, "neither a prompt nor messages were given: set one of them")
	}
	messages := slices.Clone(o.Messages)
	if o.Prompt != "" {
		messages = []llm.Message{llm.User(o.Prompt)}
	}
	if o.System != "" {
		messages = slices.Insert(messages, 0, llm.System(o.System))
	}
	req := &llm.Request{Provider: o.Provider, Model: o.Model, Messages: messages, ToolChoice: o.ToolChoice,
		Sequential: o.Sequential, Effort: o.Effort, MaxTokens: o.MaxTokens, Temperature: o.Temperature, TopP: o.TopP,
		Stop: o.Stop, Format: o.Format, CacheKey: o.CacheKey, NoCache: o.NoCache, Options: o.ProviderOptions,
		Memo: new(llm.Memo)}
	for _, t := range o.Tools {
		req.Tools = append(req.Tools, t.ToolDefinition)
	}
	return req, nil
}

// late returns the timeout that has ended a context, if one of the timeouts has, and otherwise err.
func late(ctx context.Context, err error) error {
	var timeout, call *llm.Error
	if !errors.As(context.Cause(ctx), &timeout) || timeout.Kind != llm.ErrTimeout || !errors.Is(err, llm.ErrAborted) {
		return err
	}
	late := *timeout
	if errors.As(err, &call) {
		late.Provider = call.Provider
	}
	return &late
}
