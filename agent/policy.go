package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/internal/objectschema"
	"github.com/attractor-go/attractor/llm"
)

// Policy holds the decisions that a host makes beforehand. The journal holds it: a session has the
// one that [Options], a Resume or [Session.Set] gave it last, and [State].Policy is the only copy.
// The zero value of every field is its default.
type Policy struct {
	// MaxToolRounds limits the tool rounds of one input, MaxTurns the assistant turns of the
	// session; 0 means no limit. OnLimit says what happens there.
	MaxToolRounds int     `json:"max_tool_rounds,omitempty"`
	MaxTurns      int     `json:"max_turns,omitempty"`
	OnLimit       OnLimit `json:"on_limit,omitempty"`
	// Budget is shared with the subagents.
	Budget Budget `json:"budget,omitzero"`

	// RequireDone lets only a tool whose result is Done end an input. An answer without calls gets
	// a nudge, at most three in a row; the next one ends the input all the same, with the reason
	// completed instead of done.
	RequireDone bool `json:"require_done,omitempty"`
	// Continues is how often in a row the model is asked to go on with an answer that was cut off,
	// at the limit of its length or for an unknown reason: 2 unless set, never if negative. Then
	// the input ends with the reason incomplete.
	Continues int `json:"continues,omitempty"`
	// MaxConfirms is how often Hooks.BeforeStop may send the agent back to work in one input: 3
	// unless set, never if negative or without that hook.
	MaxConfirms int `json:"confirms,omitempty"`

	// Loops says what happens when tool calls repeat.
	Loops LoopPolicy `json:"loop,omitzero"`
	// Compaction is off unless its Threshold is set; see [DefaultCompaction].
	Compaction CompactionPolicy `json:"compaction,omitzero"`
	// Fallbacks are other models, of other providers too, that are asked in order when a model call
	// has failed for good.
	Fallbacks FallbackPolicy `json:"fallbacks,omitzero"`
	// OnFailure says what happens when a model call has failed for good.
	OnFailure OnFailure `json:"on_failure,omitempty"`
	// CacheLifetime says for how long the provider's prompt cache is asked to keep what is sent.
	CacheLifetime CacheLifetime `json:"cache_lifetime,omitempty"`
	// KeepCache renews what the provider's prompt cache has, by the last request with an answer of
	// one token, while the session waits for its calls: a command, a subagent, a person. It does so
	// before the lifetime ends, and as long as all such requests of one wait cost less than writing
	// the cache anew. They count in the budget. It has no effect if the prices are not known, or
	// with a provider that is no [llm.CacheRenewer].
	KeepCache bool `json:"keep_cache,omitempty"`
	// Result asks for a structured result of each input, which Result.Text then holds as JSON. Nil
	// asks for none.
	Result *ResultPolicy `json:"result,omitempty"`

	// Window is the size of the model's window in tokens, 0 if it is unknown. The session sets it
	// whenever the model changes.
	Window int `json:"window,omitempty"`
}

// An OnFailure says what happens when a model call has failed for good.
type OnFailure string

// The values of OnFailure.
const (
	CloseOnFailure OnFailure = ""     // the input ends, and the session with it
	StayOnFailure  OnFailure = "stay" // only the input ends; Continue tries the model call again, and the queue is kept
)

// closes reports whether the failure that ended an input ends the session, too. A missing
// structured result ends only the input.
func (p *Policy) closes(f *Fault) bool {
	return p.OnFailure == CloseOnFailure && (f == nil || f.Kind != llm.ErrNoObject.Error())
}

// An OnLimit says what happens at MaxToolRounds, at MaxTurns and when a loop ends the input.
type OnLimit string

// The values of OnLimit.
const (
	EndOnLimit       OnLimit = ""          // the input ends
	SummarizeOnLimit OnLimit = "summarize" // the model first writes a last text, outside of the history
)

// The defaults of a policy.
const (
	defaultContinues = 2
	defaultConfirms  = 3
)

// policyOf returns a host's policy as the journal has it: with its defaults, and with what depends
// on the models that a session in this state asks.
func (s *Session) policyOf(p Policy, state *State) (Policy, error) {
	var err error
	if p.Continues = cmp.Or(p.Continues, defaultContinues); p.Continues < 0 {
		p.Continues = -1 // zero would mean the default
	}
	switch {
	case s.hooks.BeforeStop == nil:
		p.MaxConfirms = 0
	case p.MaxConfirms == 0:
		p.MaxConfirms = defaultConfirms
	}
	chosen := state.chosen()
	if p.Fallbacks, err = s.fallbacksOf(&p, chosen.Provider); err != nil {
		return p, err
	}
	if p.Result != nil {
		p.Result = &ResultPolicy{Schema: slices.Clone(p.Result.Schema)}
		models := append([]FallbackModel{chosen}, p.Fallbacks.Models...)
		if slices.ContainsFunc(models, func(m FallbackModel) bool { return !s.formats(m.Provider, m.Model) }) {
			p.Result.Tool = resultTool
		}
	}
	facts := s.facts(state.Provider, state.Model)
	switch {
	case facts != nil:
		p.Window = facts.Window
	case state.Fallback != nil: // the host's is that of the model that it has chosen
		p.Window = state.Policy.Window
	}
	return p, s.affordable(&p, chosen.Provider, ModelName{state.Provider, state.Model})
}

// formats reports whether a provider takes a format for the text of an answer beside tools.
func (s *Session) formats(provider, model string) bool {
	return able(s, provider, "FormatsWithTools", func(f llm.Formatter) bool { return f.FormatsWithTools(model) })
}

// ResultPolicy asks for a result that fits a JSON Schema.
type ResultPolicy struct {
	// Schema is a JSON Schema of type object.
	Schema json.RawMessage `json:"schema"`
	// Tool is the name of the tool whose arguments are the result, empty if the text of the last
	// answer is. The session sets it by what the provider supports.
	Tool string `json:"tool,omitempty"`
}

// check returns an error if a text does not fit the schema.
func (r *ResultPolicy) check(text string) error {
	fits, err := objectschema.Checker(r.Schema)
	if err != nil {
		return err
	}
	return fits(text)
}

// maxNudges limits the nudges in a row with RequireDone, maxCorrections the corrections of an
// input's structured result.
const (
	maxNudges      = 3
	maxCorrections = 2
)

// textIsResult reports whether the text of the last answer is the structured result.
func (p *Policy) textIsResult() bool { return p.Result != nil && p.Result.Tool == "" }

// missing returns what is missing for the input to end, as a text for the model, empty if nothing
// is.
func (p *Policy) missing(in *Input) string {
	switch {
	case p.resultTool() != "" && !in.Done && p.Result.check(in.Final) != nil: // JSON as text counts, too
		return fmt.Sprintf("The task ends with a call of the tool %s, whose arguments are the result. Call it now.",
			p.Result.Tool)
	case p.Result != nil:
		if err := p.Result.check(in.Final); err != nil {
			return fmt.Sprintf("The result has to be one JSON value of the given schema and nothing else, and it is "+
				"not: %v. Give it again.", err)
		}
	case p.RequireDone && !in.Done:
		return "You have not said that the task is done. Go on with it; when it is done, say so by calling the tool " +
			"that is there for it."
	}
	return ""
}

// noObject is the failure of an input that lacks its structured result.
const noObject = "the model did not give a result of the required schema"
