package attractor

import (
	"cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Window is what a user says of a context window.
type Window struct {
	Tokens int // 0 means that of the catalog
	// Provider and Model name the model. Empty means any.
	Provider, Model string
}

// of returns the window of a model, or 0 if the window is another one's.
func (w *Window) of(provider, model string) int {
	if w == nil || w.Provider != "" && w.Provider != provider || w.Model != "" && newestOf(provider, w.Model) != model {
		return 0
	}
	return w.Tokens
}

// saysWindow finds out what was said of the window of the session's model. A resumed session keeps
// that of its model if the catalog has none.
func (s *Setup) saysWindow(c *config, was *agent.State) {
	o := &s.Options
	model := cmp.Or(o.Model, o.Profile.Model)
	facts, known := lookUp(o.Client, o.Provider, model)
	window := c.chosen.window.of(o.Provider, model)
	if c.chosen.window == nil || window == 0 && c.chosen.window.Tokens > 0 {
		if was != nil && !known {
			window = windowOf(was, o.Provider, model)
		}
		window = cmp.Or(window, c.Defaults.ContextWindow.of(o.Provider, model))
	}
	switch {
	case window <= 0:
	case known:
		o.Client.Models = withWindow(o.Client.Models, facts, window)
	default: // with facts of a model that is not known, providers would not send an effort
		s.said = agent.FallbackModel{Provider: o.Provider, Model: model, Window: window}
	}
}

// windowOf returns the window that a session had for its model, or 0 if its model was another one.
func windowOf(was *agent.State, provider, model string) int {
	chosen := agent.FallbackModel{Provider: was.Provider, Model: was.Model, Window: was.Policy.Window}
	if was.Fallback != nil {
		chosen = was.Fallback.Chosen
	}
	if chosen.Provider != provider || chosen.Model != model {
		return 0
	}
	return chosen.Window
}

// withWindow returns a catalog in which a model has another window.
func withWindow(models llm.Lookup, of llm.Model, window int) llm.Lookup {
	return func(provider, name string) (llm.Model, bool) {
		facts, ok := models(provider, name)
		if ok && facts.Provider == of.Provider && facts.ID == of.ID {
			facts.Window = window
		}
		return facts, ok
	}
}

// window returns the window of a model, in tokens, or 0 if it is not known.
func (s *Setup) window(provider, model string) int {
	if facts, known := lookUp(s.Options.Client, provider, model); known {
		return facts.Window
	}
	if s.said.Provider == provider && s.said.Model == model {
		return s.said.Window
	}
	return 0
}

// beginsWith returns the window of the model with which the session begins or goes on.
func (s *Setup) beginsWith() int {
	return s.window(s.Options.Provider, cmp.Or(s.Options.Model, s.Options.Profile.Model))
}

// isSaid reports whether a model is the one whose window was said and that the catalog lacks.
func (s *Setup) isSaid(c chosen) bool {
	return s.said.Window > 0 && c.provider == s.said.Provider && c.model == s.said.Model
}

// withSaid adds to a change of the session's model the window that was said for the model.
func (s *Setup) withSaid(session *agent.Session, change agent.Settings, to chosen) agent.Settings {
	if change.Model != nil && s.isSaid(to) {
		policy := session.Policy()
		policy.Window = s.said.Window
		change.Policy = &policy
	}
	return change
}

// sayWindow puts the window that was said for the model into the policy.
func (s *Setup) sayWindow() {
	if s.isSaid(s.chosen) {
		s.Options.Policy.Window = s.said.Window
	}
}
