package host

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/permit"
)

// useSettings puts the settings of the project into the configuration, as far as they count. Those of the user are there already, but in a
// program that is not attractor.
func (s *Setup) useSettings(c *Config) error {
	s.settings = c.Settings.Clone()
	for _, problem := range s.settings.UseProject(s.Project.SettingsFile()) {
		s.warnings.add("config", problem.Error())
	}
	s.unused.Add("settings", s.settings.Without(s.Project.Because()), s.Project.Because())
	if c.Embedded {
		for _, place := range []settings.Place{settings.PlaceEnvironment, settings.PlaceUser} {
			for _, v := range s.settings.Of(place) {
				if err := c.setUsers(s.settings, v); err != nil {
					return fail(ErrConfig, "%s: %s %w", v.Origin, v.Key, err)
				}
			}
		}
	}
	for _, v := range s.settings.Of(settings.PlaceProject) {
		if err := c.set(v.Key, v.One()); err != nil {
			s.warnings.add("config", err.Error())
		}
	}
	return nil
}

// set puts a setting that a project may choose into the configuration. Those of the policy are put there by [Setup.Limit].
func (c *Config) set(key, text string) error {
	switch key {
	case "effort":
		c.Defaults.Effort = text
	case "native":
		c.Defaults.Native = text == "true"
	case "lsp":
		c.LanguageServers = text
	case "web":
		c.Web = text == "true"
	case "strict_hooks":
		c.StrictHooks = text == "true"
	case "sandbox":
		c.Sandbox.Level = sandbox.Level(text)
	case "limit":
		return settings.ParseLimits(&c.Limits, text)
	}
	return nil
}

// setUsers puts a setting of the user's into the configuration of a program, which has nothing there or, in lists, more.
func (c *Config) setUsers(all *settings.Values, v settings.Value) (err error) {
	d, text := &c.Defaults, v.One()
	switch v.Key {
	case "provider":
		d.Provider = text
	case "model":
		d.Model = text
	case "profile":
		d.Profile = text
	case "base_url":
		d.BaseURL = text
	case "mode":
		d.Mode = permit.Mode(text)
	case "fallback":
		d.Fallbacks, err = settings.ParseFallbacks(v.Text)
	case "context_window":
		d.ContextWindow = Window{Provider: all.Get("provider").One(), Model: all.Get("model").One()}
		d.ContextWindow.Tokens, err = strconv.Atoi(text)
	case "idle_timeout":
		c.IdleTimeout, err = time.ParseDuration(text)
	case "instructions":
		c.Instructions, err = settings.Prompt(text)
	case "limit":
		var l env.Limits
		err = settings.ParseLimits(&l, text)
		c.Limits = orLimits(c.Limits, l)
	case "network":
		c.Sandbox.Network = text == "true"
	case "allow_host":
		c.Sandbox.AllowHosts = v.Text
	case "allow_socket":
		c.Sandbox.AllowSockets = v.Text
	case "no_mcp":
		c.NoMCP = text == "true"
	case "no_hooks":
		c.NoHooks = text == "true"
	case "mcp":
		c.MCP = append(c.MCP, v.Text...)
	case "allow_tool":
		c.AllowTools = append(c.AllowTools, v.Text...)
	case "deny_tool":
		c.DenyTools = append(c.DenyTools, v.Text...)
	case "add_dir":
		c.AddDirs = append(c.AddDirs, v.Text...)
	case "rules":
		c.Rules = append(c.Rules, v.Text...)
	default:
		err = c.set(v.Key, text)
	}
	return err
}

// orLimits returns limits, with others in place of those that are not set.
func orLimits(l, or env.Limits) env.Limits {
	return env.Limits{Processes: cmp.Or(l.Processes, or.Processes), Memory: cmp.Or(l.Memory, or.Memory),
		FileSize: cmp.Or(l.FileSize, or.FileSize), OpenFiles: cmp.Or(l.OpenFiles, or.OpenFiles)}
}

// Limit puts the limits that the project sets into the options, and in a program that is not attractor those of the user.
func (s *Setup) Limit(o *agent.Options) {
	values := s.settings.Of(settings.PlaceProject)
	if s.embedded {
		values = slices.Concat(values, s.settings.Of(settings.PlaceEnvironment), s.settings.Of(settings.PlaceUser))
	}
	for _, v := range values {
		n, err := strconv.ParseFloat(v.One(), 64)
		if err != nil && v.Key != "on_limit" {
			continue // it is a setting of another kind
		}
		switch v.Key {
		case "max_rounds":
			o.Policy.MaxToolRounds = int(n)
		case "max_turns":
			o.Policy.MaxTurns = int(n)
		case "budget_tokens":
			o.Policy.Budget.Tokens = int(n)
		case "budget_usd":
			o.Policy.Budget.USD = n
		case "on_limit":
			o.Policy.OnLimit = settings.LimitActions()[v.One()]
		case "max_journal":
			o.Limits.MaxJournal = int64(n)
		case "keep_outputs":
			o.Limits.KeepOutputs = int64(n)
		case "diffs":
			o.Limits.Diffs = int(n)
		}
	}
}

// HasSettings reports whether files or variables have chosen something for the session.
func (s *Setup) HasSettings() bool {
	return slices.ContainsFunc([]settings.Place{settings.PlaceUser, settings.PlaceProject, settings.PlaceEnvironment}, func(p settings.Place) bool { return len(s.settings.Of(p)) > 0 })
}
