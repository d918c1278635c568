package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// FallbackPolicy holds the models that are asked when a model call has failed for good. Its zero
// value has none.
//
// A model call goes on with the first fallback after a failure of the chosen model of these kinds:
// [llm.ErrOverloaded], [llm.ErrServer], [llm.ErrQuota], [llm.ErrRateLimit], [llm.ErrNetwork],
// [llm.ErrTimeout] and [llm.ErrStream]. Each model has all the attempts of [Options].Retry; a
// Retry-After that is longer than Retry.Cap leads to the fallback at once. A refused key, an
// unknown model or an invalid request ends the input instead, so that nobody pays for a fallback
// without knowing that the first model never worked. What a model rejects of the conversation is
// first left out of the requests to it, see [llm.Error].Rejected. A fallback is left after any
// failure but a refusal.
//
// Each model is tried once for a call, in order, beginning anew with the chosen model after the
// last one. If all have failed, Submit returns a [ModelsFailed]. A change is a [ModelChanged]; the
// history goes on with it as after [Session.Set], and is compacted first if it is too long for the
// new model. The effort is fitted to each model. Side calls, such as those for summaries, do not
// change the model.
type FallbackPolicy struct {
	Models []FallbackModel `json:"models,omitempty"`
	// ReturnAfter is how long fallbacks are asked before a model call asks the chosen model again.
	// Zero means until the next input, a negative time until [Session.Set] names a model.
	ReturnAfter time.Duration `json:"return_after,omitempty"`
}

// FallbackModel names a model that is asked in place of another one.
type FallbackModel struct {
	// Provider must be one of the client's; empty means that of the session.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Window is the size of the model's window in tokens. The session sets it if the client's
	// catalog has it.
	Window int `json:"window,omitempty"`
}

func (m *FallbackModel) name() ModelName { return ModelName{m.Provider, m.Model} }

func (m *FallbackModel) isSame(other FallbackModel) bool { return m.name() == other.name() }

// ModelName names a model of a provider.
type ModelName struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// String returns the provider and the model with a slash between them.
func (n ModelName) String() string { return n.Provider + "/" + n.Model }

// ModelFailure holds the last failure of a model in a model call that went on with another model.
type ModelFailure struct {
	Model ModelName
	Fault Fault
}

// Fallback describes a fallback that is asked in place of the chosen model.
type Fallback struct {
	Chosen FallbackModel
	Since  time.Time // when the call of the chosen model failed

	inputs int // how many had begun by then
}

// ModelsFailed is the error of a model call for which all models have failed. It wraps an
// [llm.Error] for each.
type ModelsFailed struct {
	Failures []ModelFailure // in the order in which they were asked
}

// Error names each model and its failure.
func (e *ModelsFailed) Error() string {
	var b strings.Builder
	b.WriteString("every model failed")
	for i := range e.Failures {
		f := &e.Failures[i]
		fmt.Fprintf(&b, "%s %s: %s (%s)", map[bool]string{true: ":", false: ";"}[i == 0], f.Model, f.Fault.Text,
			strings.ReplaceAll(f.Fault.Kind, "_", " "))
	}
	return b.String()
}

// Unwrap returns the failures, the last one first.
func (e *ModelsFailed) Unwrap() []error {
	var errs []error
	for _, f := range slices.Backward(e.Failures) {
		errs = append(errs, f.Fault.Err())
	}
	return errs
}

// modelRecord records which model is asked from now on.
type modelRecord struct {
	FallbackModel
	// Return reports that the chosen model is asked again because its time has come. Otherwise the
	// model before has failed.
	Return bool `json:"return,omitempty"`
}

func (modelRecord) kind() string { return "model" }

// askedModel returns the name of the current model.
func (s *State) askedModel() ModelName { return ModelName{s.Provider, s.Model} }

// chosen returns the model that the host has chosen, even while a fallback is asked.
func (s *State) chosen() FallbackModel {
	if s.Fallback != nil {
		return s.Fallback.Chosen
	}
	return s.current()
}

// failures returns the failure of each model in the current model call, nil if only one was asked.
func (s *State) failures() []ModelFailure {
	f := s.fault()
	if len(s.Failed) == 0 || f == nil {
		return nil
	}
	return append(slices.Clone(s.Failed), ModelFailure{s.askedModel(), *f})
}

// leadsToFallback reports whether the chosen model is left after this failure, because another
// model may not have it.
func (f *Fault) leadsToFallback() bool {
	switch llm.KindNamed(f.Kind) {
	case llm.ErrOverloaded, llm.ErrServer, llm.ErrQuota, llm.ErrRateLimit, llm.ErrNetwork, llm.ErrTimeout,
		llm.ErrStream:
		return true
	}
	return false
}

// fallbackStep returns the step after the last attempt of a model: to change to the next model, or
// the same call if the host has chosen another model since. Ok is false if no model is left.
func (s *State) fallbackStep() (step Step, ok bool) {
	switch {
	case len(s.Policy.Fallbacks.Models) == 0:
		return Step{}, false
	case s.failedIn < s.askedSince:
		return Step{Act: ActCallModel}, true
	case s.Fallback == nil && !s.fault().leadsToFallback():
		return Step{}, false
	}
	models := append([]FallbackModel{s.chosen()}, s.Policy.Fallbacks.Models...)
	// -1 leads to the first
	at := slices.IndexFunc(models, func(m FallbackModel) bool { return m.name() == s.askedModel() })
	for i := range models {
		m := models[(at+1+i)%len(models)]
		tried := slices.ContainsFunc(s.Failed, func(f ModelFailure) bool { return f.Model == m.name() })
		if !tried && m.name() != s.askedModel() {
			return Step{Act: ActChangeModel, Model: &m}, true
		}
	}
	return Step{}, false
}

// returnDue reports whether the chosen model has to be asked again. It compares the time of the
// last record, so that a replay decides the same. A model call for which a model has failed is
// finished first.
func (s *State) returnDue() bool {
	after := s.Policy.Fallbacks.ReturnAfter
	switch {
	case s.Fallback == nil || len(s.Failed) > 0 || after < 0:
		return false
	case after == 0:
		return s.inputs > s.Fallback.inputs
	}
	return !s.at.Before(s.Fallback.Since.Add(after))
}

// foldModel changes the model. A compaction that was tried for the one before may be tried again.
func (s *State) foldModel(r modelRecord) {
	chosen := s.chosen()
	if f := s.fault(); f != nil {
		s.Failed = append(s.Failed, ModelFailure{s.askedModel(), *f})
	}
	switch {
	case r.name() == chosen.name():
		s.Fallback = nil
	case s.Fallback == nil:
		s.Fallback = &Fallback{Chosen: chosen, Since: s.at, inputs: s.inputs}
	}
	s.Faults, s.compactionFailedAt, s.compactedAt, s.Input.Rescued = nil, 0, 0, false
	s.setModel(r.name(), r.Window)
}

// setModel changes the current model, and begins an epoch if it is another one.
func (s *State) setModel(to ModelName, window int) {
	if s.Policy.Window != window {
		s.Policy.Window, s.Context.Warned, s.compactedAt = window, 0, 0
	}
	if s.askedModel() != to {
		s.Provider, s.Model = to.Provider, to.Model
		s.Epoch++
		s.askedSince = s.Epoch
		s.gatherAnew()
	}
}

// modelsFor returns the provider, model and fallbacks of a subagent. A named model is one of the
// chosen provider's. Without a name it is the current model, even a fallback, so that each subagent
// does not have to find out by itself what has failed.
func (s *State) modelsFor(model string) (provider, name string, fallbacks FallbackPolicy) {
	chosen, fallbacks := s.chosen(), s.Policy.Fallbacks
	switch {
	case model != "":
		return chosen.Provider, model, fallbacks
	case s.Fallback != nil:
		fallbacks.Models = append(slices.Clone(fallbacks.Models), chosen)
	}
	return s.Provider, s.Model, fallbacks
}

// acceptsModel returns the problem of a change of the model.
func (s *State) acceptsModel(r modelRecord) string {
	switch {
	case r.Return && s.Fallback == nil:
		return "no fallback is asked"
	case !r.Return && s.fault() == nil:
		return "no model call has failed"
	}
	return s.needsInput()
}

// projectModel returns the events of a change of the model, which also end the failed model call.
func projectModel(r modelRecord, before *State) []Event {
	changed := &ModelChanged{From: before.askedModel(), To: r.name(), Reason: ModelReturned}
	if f := before.fault(); f != nil && !r.Return {
		changed.Reason, changed.ErrorKind, changed.Status, changed.Text = ModelFailed, f.Kind, f.Status, f.Text
		since := before.at
		if before.Fallback != nil {
			since = before.Fallback.Since
		}
		chosen := before.chosen()
		switch after := before.Policy.Fallbacks.ReturnAfter; {
		case r.name() == chosen.name() || after < 0:
		case after == 0:
			changed.UntilInput = true
		default:
			changed.Until = since.Add(after)
		}
	}
	return append(failedStep(before), changed)
}

// check returns an error for fallbacks that cannot be asked.
func (p *FallbackPolicy) check(of string, provider func(name string) (llm.Provider, error)) error {
	for i, m := range p.Models {
		what := fmt.Sprintf("agent: %s.Fallbacks.Models[%d]", of, i)
		switch {
		case m.Model == "":
			return errors.New(what + " names no model")
		case m.Window < 0:
			return errors.New(what + ": Window cannot be negative; 0 means that it is unknown")
		case m.Provider == "":
			continue
		}
		if _, err := provider(m.Provider); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// fallbacksOf returns the fallbacks of a policy completed by the chosen provider and by the
// catalog.
func (s *Session) fallbacksOf(p *Policy, provider string) (FallbackPolicy, error) {
	all := p.Fallbacks
	all.Models = slices.Clone(all.Models)
	for i := range all.Models {
		m := &all.Models[i]
		m.Provider = cmp.Or(m.Provider, provider)
		facts := s.facts(m.Provider, m.Model)
		if facts != nil {
			m.Window = facts.Window
		}
		if err := s.checkBudget(p.Budget, ModelName{m.Provider, m.Model}); err != nil {
			return all, fmt.Errorf("%w (of the fallback %s)", err, m.name())
		}
	}
	return all, nil
}
