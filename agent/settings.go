package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// set commits changed settings and makes them durable. It delivers no events, because the caller
// may hold a lock that its OnEvent takes.
func (s *Session) set(ctx context.Context, set Settings) error {
	rec := settingRecord{Settings: set}
	if err := s.checkPolicy(set.Policy); err != nil {
		return err
	}
	err := s.updateDurably(ctx, func() ([]record, error) {
		if err := s.deriveSetting(&rec); err != nil {
			return nil, err
		}
		err := s.deriveTools(&rec)
		return []record{rec}, err
	})
	if err == nil {
		s.warnOfSetting(rec)
	}
	return err
}

// tools returns the current registry.
func (s *Session) tools() *tool.Registry {
	return look(s, func(*State) *tool.Registry { return s.registry })
}

// Policy returns a copy of the current policy with its defaults. Settings.Policy takes a changed
// one.
func (s *Session) Policy() Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.state.Policy
	p.Fallbacks.Models = slices.Clone(p.Fallbacks.Models)
	if p.Result != nil {
		result := *p.Result
		result.Schema = slices.Clone(result.Schema)
		p.Result = &result
	}
	return p
}

// budget returns the current budget.
func (s *Session) budget() Budget { return look(s, func(st *State) Budget { return st.Policy.Budget }) }

// changesPolicy reports whether a record sets another policy.
func changesPolicy(rec record) bool {
	set, ok := rec.(settingRecord)
	return ok && set.Policy != nil
}

// checkPolicy returns an error for a policy that a host cannot set.
func (s *Session) checkPolicy(p *Policy) error {
	if p == nil {
		return nil
	}
	const of = "Settings.Policy"
	if err := p.check(of, s.provider, s.hooks.BeforeStop != nil); err != nil {
		return err
	}
	return notNegative(of, p.numbers())
}

// deriveSetting adds to a setting what depends on it. A named model becomes the chosen one, also
// while a fallback is asked.
func (s *Session) deriveSetting(rec *settingRecord) error {
	now := s.state.current()
	if chosen := s.state.chosen(); s.state.Fallback != nil && (rec.Provider != nil || rec.Model != nil) {
		now = chosen
		rec.Provider, rec.Model = cmp.Or(rec.Provider, &chosen.Provider), cmp.Or(rec.Model, &chosen.Model)
	}
	provider, model := deref(rec.Provider, now.Provider), deref(rec.Model, now.Model)
	facts := s.facts(provider, model)
	switch {
	case facts != nil:
		rec.Window = facts.Window
	case provider == now.Provider && model == now.Model:
		rec.Window = now.Window // the host may have set it
	}
	rec.EffortNext = rec.Effort != nil && s.effortIsFixed()
	if rec.Policy == nil {
		chosen := provider
		if rec.Provider == nil && rec.Model == nil {
			chosen = s.state.chosen().Provider
		}
		return s.affordable(&s.state.Policy, chosen, ModelName{provider, model})
	}
	after := s.state
	if rec.Provider != nil || rec.Model != nil {
		after.Provider, after.Model, after.Fallback = provider, model, nil
	}
	policy, err := s.policyOf(*rec.Policy, &after)
	rec.Policy, rec.Window = &policy, policy.Window
	return err
}

// deriveTools adds the tools to a setting that changes all of them, or the tool that takes the
// structured result.
func (s *Session) deriveTools(rec *settingRecord) (err error) {
	policy := rec.policy(s.state.Policy)
	switch {
	case rec.Settings.Tools != nil:
		if rec.registry, err = s.registryOf(&policy, slices.Clone(rec.Settings.Tools)); err == nil {
			rec.Tools, err = writtenTools(rec.registry.Definitions())
		}
	case rec.Policy != nil:
		if rec.registry, err = s.registryFor(&policy); err == nil {
			rec.Tools, err = s.toolsFor(&policy, rec.registry)
		}
	}
	return err
}

func deref(value *string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return *value
}

// warnOfSetting emits warnings about effects of a setting that the host may not expect.
func (s *Session) warnOfSetting(rec settingRecord) {
	waits := look(s, func(st *State) bool { return st.Input != nil || st.awaiting() != nil })
	if rec.EffortNext && waits {
		s.events.add(&Warning{Code: "effort_later",
			Text: "The provider does not let the effort change while its calls are being answered: it " +
				"holds from the next input on."})
	}
	if rec.namesModel() {
		s.warnOfModels(look(s, (*State).current))
	}
	if rec.Effort != nil || rec.Model != nil {
		s.warnOfEffort()
	}
	s.events.deliver()
}

// effortIsFixed reports whether the provider does not let the effort change now, between calls and
// the next answer.
func (s *Session) effortIsFixed() bool {
	if !s.state.inRound() {
		return false
	}
	facts := s.facts(s.state.Provider, s.state.Model)
	return able(s, s.state.Provider, "FixesEffort", func(f llm.EffortFixer) bool { return f.FixesEffort(facts) })
}

// inRound reports whether the model has made calls and not answered since. Steering in between does
// not count, because providers merge it with the results.
func (s *State) inRound() bool {
	for _, t := range slices.Backward(s.Turns) {
		switch t.Kind {
		case TurnAssistant:
			return len(s.Calls) > 0
		case TurnToolResults:
			return true
		case TurnUser:
			return false
		}
	}
	return false
}

// warnOfEffort emits a warning if the model does not take the effort, or if the effort is unknown.
func (s *Session) warnOfEffort() {
	s.mu.Lock()
	asked, provider, model := deref(s.state.pending, s.state.Effort), s.state.Provider, s.state.Model
	s.mu.Unlock()
	facts := s.facts(provider, model)
	if sent, same := facts.FitEffort(asked); !same {
		s.events.add(&Warning{Code: "effort_clamped",
			Text: fmt.Sprintf("%s does not take the effort %q; it gets %q.", model, asked, sent)})
	} else if asked != "" && !slices.Contains(facts.KnownEfforts(), asked) {
		s.events.add(&Warning{Code: "effort_unknown",
			Text: fmt.Sprintf("The effort %q is unknown; it is sent as it is. The known ones are %s.", asked,
				strings.Join(facts.KnownEfforts(), ", "))})
	}
}

// namesModel reports whether the settings choose a model.
func (set *Settings) namesModel() bool { return set.Provider != nil || set.Model != nil }

// current returns the model that is asked now.
func (s *State) current() FallbackModel { return FallbackModel{s.Provider, s.Model, s.Policy.Window} }

// warnOfModels emits a warning for each of these models that the client's catalog lacks.
func (s *Session) warnOfModels(models ...FallbackModel) {
	if s.client.Models == nil {
		return
	}
	for i, m := range models {
		if s.facts(m.Provider, m.Model) != nil || slices.ContainsFunc(models[:i], m.isSame) {
			continue
		}
		text := fmt.Sprintf("The model %q of %s is not in the catalog, so ", m.Model, m.Provider)
		if m.Window > 0 {
			text += "its prices are unknown: costs are not counted, and only a budget of tokens limits them."
		} else {
			text += "its context window and prices are unknown. Until the window is given (--context-window or " +
				"models.json; docs/local.md), the conversation is compacted only when the server says that it no " +
				"longer fits. Costs are not counted: only a budget of tokens limits them."
		}
		s.events.add(&Warning{Code: "model_unknown", Text: text})
	}
}
