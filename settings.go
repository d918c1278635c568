package attractor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/settings"
)

// theProgram is where settings come from that are fields of the configuration. They are in their place
// already, and stand among the others so that these do not loosen or replace them.
const theProgram = "the program"

// applySettings puts the Settings and those of the user, if they are loaded, into the configuration of
// the wiring, as far as they count. Those of the project follow when it is read.
func (c *Config) applySettings(w *config) error {
	values := c.given()
	for _, s := range c.Settings {
		if !slices.ContainsFunc(values, func(v settings.Value) bool { return v.Key == s.Key }) {
			values = append(values, settings.Value{Key: s.Key, Text: s.Values, Origin: settings.Origin{Place: settings.PlaceFlag, Name: s.From}})
		}
	}
	if c.Load&LoadUser != 0 {
		users, err := settings.Users(w.Getenv)
		if err != nil {
			return fail(ErrConfig, "%w", err)
		}
		values = append(values, users...)
	}
	w.Settings = settings.Choose(values, c.Resume != "" || c.Fork != "" || c.Continue)
	for _, place := range []settings.Place{settings.PlaceFlag, settings.PlaceEnvironment, settings.PlaceUser} {
		for _, v := range w.Settings.Of(place) {
			if v.Origin.Name == theProgram {
				continue
			}
			if err := w.apply(&v); err != nil {
				return fail(ErrConfig, "%s: %s %w", v.Origin, v.Key, err)
			}
		}
	}
	return nil
}

// given returns the settings that the configuration has, so that no file loosens or replaces them.
func (c *Config) given() (values []settings.Value) {
	give := func(key string, texts ...string) {
		values = append(values, settings.Value{Key: key, Text: texts, Origin: settings.Origin{Place: settings.PlaceFlag, Name: theProgram}})
	}
	text := func(key, value string) {
		if value != "" {
			give(key, value)
		}
	}
	number := func(key string, n float64) {
		if n != 0 {
			give(key, strconv.FormatFloat(n, 'f', -1, 64))
		}
	}
	on := func(key string, is bool) {
		if is {
			give(key, "true")
		}
	}
	provider, model, _ := strings.Cut(c.Model, "/")
	text("provider", provider)
	text("model", model)
	text("effort", c.Effort)
	text("profile", c.Profile)
	text("base_url", c.BaseURL)
	text("instructions", c.Instructions)
	text("mode", string(c.Mode))
	text("sandbox", string(c.Sandbox.Level))
	text("lsp", c.LanguageServers)
	text("limit", settings.FormatLimits(c.Limits))
	on("native", c.Native)
	on("web", c.Web)
	on("network", c.Sandbox.Network)
	number("context_window", float64(c.ContextWindow))
	number("budget_tokens", float64(c.Budget.Tokens))
	number("budget_usd", c.Budget.USD)
	if c.IdleTimeout != 0 {
		give("idle_timeout", c.IdleTimeout.String())
	}
	if c.Fallbacks != nil {
		give("fallback")
	}
	if c.Sandbox.AllowHosts != nil {
		give("allow_host", c.Sandbox.AllowHosts...)
	}
	if c.Sandbox.AllowSockets != nil {
		give("allow_socket", c.Sandbox.AllowSockets...)
	}
	return values
}
