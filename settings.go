package attractor

import (
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/internal/settings"
)

// settings returns the settings of the session: those of the configuration, which count before all
// others, and those of the user if they are loaded.
func (c *Config) settings(getenv func(string) string) (*settings.Values, error) {
	values := c.given()
	if c.Load&LoadUser != 0 {
		users, err := settings.Users(getenv)
		if err != nil {
			return nil, &host.Error{Kind: host.ErrConfig, Err: err}
		}
		values = append(values, users...)
	}
	return settings.Choose(values, c.resumes()), nil
}

// resumes reports whether the session is an earlier one, or a fork of one.
func (c *Config) resumes() bool { return c.Resume != "" || c.Fork != "" }

// given returns the settings that the configuration has, so that no file loosens or replaces them.
func (c *Config) given() (values []settings.Value) {
	give := func(key string, texts ...string) {
		values = append(values, settings.Value{Key: key, Text: texts, Origin: settings.Origin{Place: settings.PlaceFlag, Name: "the program"}})
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
