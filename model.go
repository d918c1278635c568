package attractor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// Model describes a model that a session can use.
type Model struct {
	Provider, ID string
	Name         string   // for people; empty if it is not known
	Window       int      // in tokens; 0 if it is not known
	Efforts      []string // lowest first
}

// chosen holds the model that was chosen for the session. A command may have another one for an
// input.
type chosen struct{ provider, model, effort string }

// Model returns the provider, the model and the effort that were chosen for the session. An empty
// effort means the provider's.
func (s *Setup) Model() (provider, model, effort string) {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	return s.chosen.provider, s.chosen.model, s.chosen.effort
}

// Models returns the models that [Setup.SetModel] accepts by the catalog: those of the session's
// providers, newest first. The session's model is among them, even if the catalog does not have it.
// Others may work as well.
func (s *Setup) Models() (list []Model) {
	provider, model, _ := s.Model()
	all := s.catalog
	names := []string{provider}
	for _, p := range s.Options.Client.Providers {
		if !slices.Contains(names, p.Name()) {
			names = append(names, p.Name())
		}
	}
	for _, name := range names {
		for _, m := range all.List(name) {
			list = append(list, Model{Provider: name, ID: m.ID, Name: m.Name, Window: m.Window, Efforts: m.Efforts})
		}
	}
	if facts, known := lookUp(s.Options.Client, provider, model); known {
		model = facts.ID
	}
	if !slices.ContainsFunc(list, func(m Model) bool { return m.Provider == provider && m.ID == model }) {
		list = slices.Insert(list, 0, Model{Provider: provider, ID: model, Window: s.window(provider, model)})
	}
	return list
}

// Efforts returns the levels of effort that the session's model has, lowest first. It returns nil
// if they are not known.
func (s *Setup) Efforts() []string {
	provider, model, _ := s.Model()
	facts, _ := lookUp(s.Options.Client, provider, model)
	return facts.Efforts
}

// ModelNamed returns the provider and the model that a person names: provider/model, or a model of
// the session's provider, for which the provider is empty. The names of some models have a slash.
func (s *Setup) ModelNamed(name string) (provider, model string) {
	provider, model, both := strings.Cut(name, "/")
	_, unknown := s.table().Find(provider)
	if _, err := s.Options.Client.Provider(provider); !both || unknown != nil && err != nil {
		return "", name
	}
	return provider, model
}

// SetModel changes the model of the session from its next call on. An empty provider means the
// session's. An effort that the model is known not to have becomes the provider's default.
func (s *Setup) SetModel(ctx context.Context, provider, model string) error {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	next := s.chosen
	next.provider = cmp.Or(provider, next.provider)
	if next.model = strings.TrimSpace(model); next.model == "" {
		return fail(ErrNoModel, "the model has no name")
	}
	next.model = newestOf(next.provider, next.model)
	if _, err := s.Options.Client.Provider(next.provider); err != nil {
		return s.unreachable(next.provider)
	}
	if facts, _ := lookUp(s.Options.Client, next.provider, next.model); len(facts.Efforts) > 0 &&
		!slices.Contains(facts.Efforts, next.effort) {
		next.effort = ""
	}
	return s.choose(ctx, next)
}

// unreachable returns why a provider cannot be chosen.
func (s *Setup) unreachable(provider string) error {
	kind, err := findProvider(s.table(), provider)
	if err != nil {
		return err
	}
	needed := strings.Join(kind.Variables(), " and ")
	if kind.BaseURLVar != "" {
		needed = strings.Join(slices.Concat(kind.KeyVars, []string{kind.BaseURLVar}), " or ")
	}
	return fail(ErrNoKey, "the session cannot use %s: start it with %s set", provider, needed)
}

// SetEffort changes the effort of the session from its next model call on. Empty means the
// provider's default.
func (s *Setup) SetEffort(ctx context.Context, effort string) error {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	next := s.chosen
	next.effort = effort
	facts, _ := lookUp(s.Options.Client, next.provider, next.model)
	if effort != "" && facts.Efforts != nil && len(facts.Efforts) == 0 {
		return fail(ErrConfig, "%s has no efforts to choose from", next.model)
	}
	if effort != "" && facts.Efforts != nil && !slices.Contains(facts.Efforts, effort) {
		return fail(ErrConfig, "%s has no effort %q; it has %s", next.model, effort, strings.Join(facts.Efforts, ", "))
	}
	return s.choose(ctx, next)
}

// choose changes the settings of the session. It is called with the lock held.
func (s *Setup) choose(ctx context.Context, next chosen) error {
	if s.session == nil {
		o := &s.Options
		o.Provider, o.Model, o.Effort = next.provider, next.model, next.effort
		s.change = agent.Settings{Provider: &next.provider, Model: &next.model, Effort: &next.effort}
	} else if err := s.session.Set(ctx, s.withOwnWindow(s.session, next.from(s.chosen), next)); err != nil {
		return fmt.Errorf("cannot use the model %s of %s: %w", next.model, next.provider, s.unpriced(err))
	}
	s.chosen = next
	s.warnOfSearch()
	return nil
}

// unpriced adds to an [agent.UnpricedError] which settings help. It returns any other error as it
// is.
func (s *Setup) unpriced(err error) error {
	var of *agent.UnpricedError
	if !errors.As(err, &of) {
		return err
	}
	if s.alone {
		return fmt.Errorf("%w (in Models of attractor.Config)", err)
	}
	const tokens = "the budget of tokens is --budget-tokens, or budget_tokens in your config.json"
	const prices = `"prices": [{"input": 0.5, "output": 2}]`
	if slices.ContainsFunc(s.kinds, func(k providers.Kind) bool { return k.Name == of.Provider }) {
		return fmt.Errorf("%w\n(%s; the prices, in dollars for a million tokens, are in the provider there: "+
			`{"providers": {%q: {"models": {%q: {%s}}}}})`, err, tokens, of.Provider, of.Model, prices)
	}
	return fmt.Errorf("%w\n(%s; the prices, in dollars for a million tokens, are in models.json beside it: "+
		`[{"provider": %q, "id": %q, %s}])`, err, tokens, of.Provider, of.Model, prices)
}

// from returns the settings that change another choice into this one.
func (c chosen) from(was chosen) (change agent.Settings) {
	if c.provider != was.provider {
		change.Provider, change.Model = &c.provider, &c.model
	}
	if c.model != was.model {
		change.Model = &c.model
	}
	if c.effort != was.effort {
		change.Effort = &c.effort
	}
	return change
}

// table returns the providers that the library knows, and the program's and the user's own.
func (s *Setup) table() providers.Table { return append(providers.Kinds(), s.kinds...) }

// openChoice notes the model of the session, and adds the other providers: the program's own, and
// those that the environment configures.
func (s *Setup) openChoice(c *config) {
	o := &s.Options
	s.catalog, s.kinds, s.alone = c.catalog(), c.Kinds, c.WithoutUser
	s.chosen = chosen{provider: o.Provider, model: cmp.Or(o.Model, o.Profile.Model), effort: o.Effort}
	if was := c.was; was != nil && c.chosen.effort == nil {
		s.chosen.effort = was.Effort
	}
	if facts, known := s.catalog.Get(s.chosen.provider, s.chosen.model); known && len(facts.Prices) == 0 {
		s.warnings.add("model_unknown", fmt.Sprintf(
			"The prices of the model %q of %s are unknown: costs are not counted, and only a budget of tokens "+
				"limits them.",
			s.chosen.model, s.chosen.provider))
	}
	for _, own := range c.Providers {
		if _, err := o.Client.Provider(own.Name()); err != nil {
			o.Client.Providers = append(o.Client.Providers, own)
		}
	}
	for _, kind := range c.table() {
		if _, err := o.Client.Provider(kind.Name); err == nil || !c.configured(kind) {
			continue
		}
		if p, err := c.newProvider(kind, ""); err == nil {
			o.Client.Providers = append(o.Client.Providers, p)
		}
	}
}

// lookUp returns what is known about a model.
func lookUp(client *llm.Client, provider, model string) (llm.Model, bool) {
	if client == nil || client.Models == nil {
		return llm.Model{}, false
	}
	return client.Models(provider, model)
}
