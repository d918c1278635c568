package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Options say what to generate. Model and one of Prompt and Messages are required. Fields that [llm.Request] has too mean what
// they mean there.
type Options struct {
	Provider, Model string
	// Prompt is the user's text; Messages is a whole conversation. Both, or neither, is an [llm.ErrInvalidRequest].
	Prompt   string
	Messages []llm.Message
	// System goes before everything else.
	System string

	Tools []Tool
	// ToolChoice required and named hold for the first model call only: the model could never answer otherwise.
	ToolChoice llm.ToolChoice
	Sequential bool
	// MaxToolRounds is how often calls are run and their results given to the model: nil means once, 0 never. So there is at most
	// one model call more than that. See [Rounds].
	MaxToolRounds *int
	// StopWhen, when set, is asked after each round, with all steps so far; true ends the loop before the next model call.
	StopWhen func(steps []Step) bool

	Effort            string
	MaxTokens         int
	Temperature, TopP *float64
	Stop              []string
	// Format is the answer's format. [Object] and [StreamObject] take their schema from it instead of from their type.
	Format *llm.Format
	// ObjectMode is how Object and StreamObject get their answer.
	ObjectMode ObjectMode

	CacheKey        string
	NoCache         bool
	ProviderOptions map[string]json.RawMessage // Options of llm.Request

	// Retry holds how a failed model call is tried again, each step for itself. OnRetry, unless nil, is told of each retry; see
	// [llm.Retry].
	Retry   llm.RetryPolicy
	OnRetry func(attempt int, err error, delay time.Duration)
	// Timeout bounds everything, StepTimeout the model call of one step with its retries. 0 means no limit. What takes longer is
	// an [llm.ErrTimeout].
	Timeout, StepTimeout time.Duration
}

// Rounds is a value for Options.MaxToolRounds.
func Rounds(n int) *int { return &n }

func (o *Options) rounds() int {
	if o.MaxToolRounds == nil {
		return 1
	}
	return *o.MaxToolRounds
}

// request is the first model call's.
func (o *Options) request() (*llm.Request, error) {
	switch {
	case o.Prompt != "" && len(o.Messages) > 0:
		return nil, llm.Errorf(llm.ErrInvalidRequest, "both a prompt and messages were given: put the prompt into the messages")
	case o.Prompt == "" && len(o.Messages) == 0:
		return nil, llm.Errorf(llm.ErrInvalidRequest, "neither a prompt nor messages were given")
	}
	messages := slices.Clone(o.Messages)
	if o.Prompt != "" {
		messages = []llm.Message{llm.User(o.Prompt)}
	}
	if o.System != "" {
		messages = slices.Insert(messages, 0, llm.System(o.System))
	}
	req := &llm.Request{Provider: o.Provider, Model: o.Model, Messages: messages, ToolChoice: o.ToolChoice, Sequential: o.Sequential,
		Effort: o.Effort, MaxTokens: o.MaxTokens, Temperature: o.Temperature, TopP: o.TopP, Stop: o.Stop, Format: o.Format,
		CacheKey: o.CacheKey, NoCache: o.NoCache, Options: o.ProviderOptions, Memo: new(llm.Memo)}
	for _, t := range o.Tools {
		req.Tools = append(req.Tools, t.ToolDefinition)
	}
	return req, nil
}

// expired is the cause of a context that a timeout of the options ended.
type expired struct {
	what  string
	after time.Duration
}

func (e *expired) Error() string { return fmt.Sprintf("%s took longer than %v", e.what, e.after) }

// late turns the error of a call that a timeout of the options ended into a timeout.
func late(cause, err error) error {
	var e *expired
	if !errors.As(cause, &e) || !errors.Is(err, llm.ErrAborted) {
		return err
	}
	timeout := llm.Errorf(llm.ErrTimeout, "%v", e)
	var call *llm.Error
	if errors.As(err, &call) {
		timeout.Provider = call.Provider
	}
	return timeout
}
