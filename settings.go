package attractor

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/settings"
)

// theProgram is the origin of settings that are fields of the configuration. They are applied
// already, and are among the others so that these do not loosen or replace them.
const theProgram = "the program"

// applySettings puts the Settings and those of files and variables into the configuration of the
// wiring, as far as they count. Those of the project follow when it is read.
func (c *Config) applySettings(w *config, users []settings.Value) error {
	values := c.given()
	for _, s := range c.Settings {
		v, err := settings.New(s.Key, s.Values, settings.Origin{Place: settings.PlaceFlag, Name: s.From})
		if s.Key == "no_journal" {
			err = errors.New("no_journal cannot be set here: leave the Store out")
		}
		if err != nil {
			return fail(ErrConfig, "%s: %w", s.From, err)
		}
		if v.Joins() || !slices.ContainsFunc(values, func(v settings.Value) bool { return v.Key == s.Key }) {
			values = append(values, v)
		}
	}
	for _, v := range users {
		if !slices.Contains(c.Ignore, v.Key) {
			values = append(values, v)
		}
	}
	w.values = settings.Choose(values, c.Resume != "" || c.Fork != "" || c.Continue)
	w.useNamed()
	w.useNamedByModel(c.Resume != "" || c.Fork != "" || c.Continue)
	if w.elsewhere() {
		w.values.WithoutOtherSandbox("it confines commands of this machine, and the session works on another one")
	}
	for _, place := range []settings.Place{settings.PlaceFlag, settings.PlaceEnvironment, settings.PlaceUser,
		settings.PlaceOther} {
		for _, v := range w.values.Of(place) {
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
		values = append(values, settings.Value{Key: key, Text: texts, Origin: settings.Origin{Place: settings.PlaceFlag,
			Name: theProgram}})
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
	text("key_command", c.KeyCommand)
	text("instructions", c.Instructions)
	text("mode", string(c.Mode))
	text("sandbox", string(c.Sandbox.Level))
	text("unasked", string(c.Unasked))
	text("lsp", c.LanguageServers)
	text("limit", settings.FormatLimits(c.Limits))
	on("native", c.Native)
	on("web", c.Web)
	on("web_search", c.WebSearch)
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

// useSettings puts the settings of the project into the configuration, as far as they count.
func (s *Setup) useSettings(c *config) {
	s.settings = c.values.Clone()
	for _, problem := range s.settings.UseProject(s.Project.SettingsFile()) {
		s.warnings.add("config", problem.Error())
	}
	s.unused.Add("settings", s.settings.Without(s.Project.Because()), s.Project.Because())
	for _, v := range s.settings.Of(settings.PlaceProject) {
		if err := c.set(v.Key, v.One()); err != nil {
			s.warnings.add("config", err.Error())
		}
	}
}

// set puts a setting that a project may choose into the configuration. Those of the policy are put
// there by limit.
func (c *config) set(key, text string) error {
	switch key {
	case "effort":
		c.Defaults.Effort = text
	case "native":
		c.Defaults.Native = text == "true"
	case "lsp":
		c.LanguageServers = text
	case "web":
		c.Web = text == "true"
	case "web_search":
		c.WebSearch = text == "true"
	case "strict_hooks":
		c.StrictHooks = text == "true"
	case "sandbox":
		c.Sandbox.Level = sandbox.Level(text)
	case "limit":
		return settings.ParseLimits(&c.Limits, text)
	}
	return nil
}

// apply puts a setting of a flag, a variable or the user's file into the configuration. A resumed
// session keeps its own where only a file or a variable says something.
func (c *config) apply(v *settings.Value) (err error) {
	text, given, d := v.One(), v.Origin.Place == settings.PlaceFlag, &c.Defaults
	choose := func(chosen **string, or *string) {
		if given {
			*chosen = &text
		} else {
			*or = text
		}
	}
	replace := func(chosen, or *string) {
		if given {
			*chosen = text
		} else {
			*or = text
		}
	}
	switch v.Key {
	case "provider":
		choose(&c.chosen.provider, &d.Provider)
	case "model":
		choose(&c.chosen.model, &d.Model)
	case "effort":
		choose(&c.chosen.effort, &d.Effort)
	case "profile":
		replace(&c.Profile, &d.Profile)
	case "base_url":
		replace(&c.BaseURL, &d.BaseURL)
	case "key_command":
		replace(&c.KeyCommand, &d.KeyCommand)
	case "mode":
		replace((*string)(&c.Mode), (*string)(&d.Mode))
	case "native":
		if on := text == "true"; given {
			c.chosen.native = &on
		} else {
			d.Native = on
		}
	case "fallback":
		if given {
			c.Fallbacks, err = settings.ParseFallbacks(v.Text)
		} else {
			d.Fallbacks, err = settings.ParseFallbacks(v.Text)
		}
	case "context_window":
		w := Window{Provider: c.values.Get("provider").One(), Model: c.values.Get("model").One()}
		if w.Tokens, err = strconv.Atoi(text); given {
			c.chosen.window = &w
		} else {
			d.ContextWindow = w
		}
	default:
		return c.applyPlain(v)
	}
	return err
}

// applyPlain puts a setting into the configuration that means the same for new and for resumed
// sessions.
func (c *config) applyPlain(v *settings.Value) (err error) {
	switch text := v.One(); v.Key {
	case "idle_timeout":
		c.IdleTimeout, err = time.ParseDuration(text)
	case "instructions":
		c.Instructions, err = settings.Prompt(text)
	case "limit":
		var l env.Limits
		err = settings.ParseLimits(&l, text)
		c.Limits = orLimits(c.Limits, l)
	case "unasked":
		c.Unasked = sandbox.Level(text)
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
	case "no_checkpoints":
		c.NoCheckpoints = text == "true"
	case "mcp":
		c.MCP = appendNew(c.MCP, v.Text)
	case "allow_tool":
		c.Allow = appendNew(c.Allow, v.Text)
		c.noteSource("allow", v.Text, v.Origin.String())
	case "deny_tool":
		c.Deny = appendNew(c.Deny, v.Text)
		c.noteSource("deny", v.Text, v.Origin.String())
	case "add_dir":
		if v.Origin.Place == settings.PlaceOther { // directories of this machine
			c.Here.AddDirs = appendNew(c.Here.AddDirs, v.Text)
		} else {
			c.AddDirs = appendNew(c.AddDirs, v.Text)
		}
	case "rules":
		c.RuleFiles = appendNew(c.RuleFiles, v.Text)
	default:
		err = c.set(v.Key, text)
	}
	return err
}

// noteSource notes where rules of a list come from, unless a higher place has them, too.
func (c *config) noteSource(list string, rules []string, from string) {
	for _, rule := range rules {
		if c.ruleFrom == nil {
			c.ruleFrom = map[string]string{}
		}
		if key := list + " " + rule; c.ruleFrom[key] == "" {
			c.ruleFrom[key] = from
		}
	}
}

// appendNew appends the texts that a list does not have.
func appendNew(list, texts []string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// orLimits returns limits, with others in place of those that are not set.
func orLimits(l, or env.Limits) env.Limits {
	return env.Limits{Processes: cmp.Or(l.Processes, or.Processes), Memory: cmp.Or(l.Memory, or.Memory),
		FileSize: cmp.Or(l.FileSize, or.FileSize), OpenFiles: cmp.Or(l.OpenFiles, or.OpenFiles)}
}

// limit puts the limits that settings choose into the options.
func (s *Setup) limit(o *agent.Options) {
	var values []settings.Value
	for _, place := range []settings.Place{settings.PlaceUser, settings.PlaceProject, settings.PlaceEnvironment,
		settings.PlaceFlag} {
		values = append(values, s.settings.Of(place)...)
	}
	for _, v := range values {
		n, err := strconv.ParseFloat(v.One(), 64)
		if err != nil && v.Key != "on_limit" && v.Key != "cache_lifetime" && v.Key != "keep_cache" {
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
		case "cache_lifetime":
			if v.One() != settings.CacheAuto {
				o.Policy.CacheLifetime = agent.CacheLifetime(v.One())
			}
		case "keep_cache":
			o.Policy.KeepCache = v.One() == "true"
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
	return slices.ContainsFunc([]settings.Place{settings.PlaceOther, settings.PlaceUser, settings.PlaceProject,
		settings.PlaceEnvironment},
		func(p settings.Place) bool { return len(s.settings.Of(p)) > 0 })
}
