package agent

import (
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm"
)

// Policy is what the host decided beforehand: with the state it is all that [Next] looks at.
type Policy struct {
	MaxToolRounds int     `json:"max_tool_rounds,omitempty"` // in one input; 0 means no limit
	MaxTurns      int     `json:"max_turns,omitempty"`       // assistant turns in the session; 0 means no limit
	OnLimit       OnLimit `json:"on_limit,omitempty"`
	Budget        Budget  `json:"budget,omitzero"`

	// RequireDone says that only a tool ends an input: an answer without calls is followed by a nudge, three in a row at most.
	RequireDone bool `json:"require_done,omitempty"`
	// Continues is how often in a row the model is asked to go on with an answer that was cut off.
	Continues int `json:"continues,omitempty"`
	// Confirms is how often BeforeStop may send the agent back to work in one input.
	Confirms int `json:"confirms,omitempty"`

	Loop       LoopPolicy       `json:"loop,omitzero"`
	Compaction CompactionPolicy `json:"compaction,omitzero"`
	// Window is the size of the model's window in tokens, 0 when it is unknown. It changes with the model.
	Window int `json:"window,omitempty"`
	// Result is the structured result that is asked for.
	Result    *ResultPolicy `json:"result,omitempty"`
	OnFailure OnFailure     `json:"on_failure,omitempty"`
}

// OnFailure says what happens when a model call has failed for good.
type OnFailure string

// What happens after a failure.
const (
	CloseOnFailure OnFailure = ""     // the input ends, and the session with it
	StayOnFailure  OnFailure = "stay" // only the input ends: Continue tries the call again, and nothing that is queued is lost
)

// closes reports whether the failure that ends an input ends the session, too. That there is no structured result is the input's.
func (p *Policy) closes(f *Fault) bool {
	return p.OnFailure == CloseOnFailure && (f == nil || f.Kind != llm.ErrNoObject.Error())
}

// OnLimit says what happens at MaxToolRounds and MaxTurns.
type OnLimit string

// What happens at a limit.
const (
	Stopped    OnLimit = ""          // the input ends
	Summarized OnLimit = "summarize" // the model is asked for a last text, outside of the history, before it ends
)

// ResultPolicy asks for a result of a JSON Schema (requirement A21).
type ResultPolicy struct {
	Schema json.RawMessage `json:"schema"`
	// Tool is the tool by whose arguments the result comes; empty when it is the text of the last answer.
	Tool string `json:"tool,omitempty"`

	check func(text string) error
}

// The most nudges in a row with RequireDone, and how often an input's structured result may be corrected.
const (
	maxNudges      = 3
	maxCorrections = 2
)

// textIsResult reports whether the text of the last answer is the structured result.
func (p *Policy) textIsResult() bool { return p.Result != nil && p.Result.Tool == "" }

// lacks says what the last answer, or the tool that was done, lacks to be the end, as the model is told; empty when it lacks
// nothing.
func (p *Policy) lacks(in *Input) string {
	switch {
	case p.resultTool() != "" && !in.Done && p.Result.check(in.Final) != nil: // JSON as text is as good
		return fmt.Sprintf("The task ends with a call of the tool %s, whose arguments are the result. Call it now.", p.Result.Tool)
	case p.Result != nil:
		if err := p.Result.check(in.Final); err != nil {
			return fmt.Sprintf("The result has to be one JSON value of the given schema and nothing else, and it is not: %v. Give it again.", err)
		}
	case p.RequireDone && !in.Done:
		return "You have not said that the task is done. Go on with it; when it is done, say so by calling the tool that is there for it."
	}
	return ""
}

// noObject is the failure of an input that was to have a structured result and has none.
const noObject = "the model did not give a result of the required schema"
