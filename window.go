package attractor

import (
	"cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Window is a context window that a user has set.
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

// chooseWindow applies the window that was set for the session's model. A resumed session keeps
// that of its model if the catalog has none.
func (s *Setup) chooseWindow(c *config, was *agent.State) {
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
		s.ownWindow = agent.FallbackModel{Provider: o.Provider, Model: model, Window: window}
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
	if s.ownWindow.Provider == provider && s.ownWindow.Model == model {
		return s.ownWindow.Window
	}
	return 0
}

// modelWindow returns the window of the model with which the session begins or is resumed.
func (s *Setup) modelWindow() int {
	return s.window(s.Options.Provider, cmp.Or(s.Options.Model, s.Options.Profile.Model))
}

// hasOwnWindow reports whether a model is the one that the catalog lacks and whose window was set.
func (s *Setup) hasOwnWindow(c chosen) bool {
	return s.ownWindow.Window > 0 && c.provider == s.ownWindow.Provider && c.model == s.ownWindow.Model
}

// withOwnWindow adds to a change of the session's model the window that was set for the model.
func (s *Setup) withOwnWindow(session *agent.Session, change agent.Settings, to chosen) agent.Settings {
	if change.Model != nil && s.hasOwnWindow(to) {
		policy := session.Policy()
		policy.Window = s.ownWindow.Window
		change.Policy = &policy
	}
	return change
}

// setWindow puts the window that was set for the model into the policy.
func (s *Setup) setWindow() {
	if s.hasOwnWindow(s.chosen) {
		s.Options.Policy.Window = s.ownWindow.Window
	}
}
