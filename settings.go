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
	return w.use(w.values)
}

// given returns the settings that the configuration has, so that no file loosens or replaces them.
func (c *Config) given() (values []settings.Value) {
	give := func(key string, texts ...string) {
		values = append(values, settings.Value{Key: key, Text: texts,
			Origin: settings.Origin{Place: settings.PlaceFlag, Name: theProgram}})
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
	if err := c.use(s.settings); err != nil {
		s.warnings.add("config", err.Error())
	}
}

// use puts what settings choose into the configuration, but for the policy, which limit does. A
// resumed session keeps its own model and tools where only a file or a variable says something.
func (c *config) use(v *settings.Values) error {
	c.usePlain(v)
	c.MCP, c.RuleFiles = appendNew(c.MCP, v.List("mcp")), appendNew(c.RuleFiles, v.List("rules"))
	c.useRules(v)
	for _, dirs := range v.Counting("add_dir") {
		if dirs.Origin.Place == settings.PlaceOther { // directories of this machine
			c.Here.AddDirs = appendNew(c.Here.AddDirs, dirs.Text)
		} else {
			c.AddDirs = appendNew(c.AddDirs, dirs.Text)
		}
	}
	limits := v.Counting("limit")
	if limits != nil { // those of the program are among them
		c.Limits = env.Limits{}
	}
	for _, limit := range limits {
		var l env.Limits
		if err := settings.ParseLimits(&l, limit.One()); err != nil {
			return fail(ErrConfig, "%s: limit %w", limit.Origin, err)
		}
		c.Limits = orLimits(c.Limits, l)
	}
	return errors.Join(c.useModel(v), c.useTexts(v))
}

// usePlain puts the settings into the configuration that need no more than to be put there.
func (c *config) usePlain(v *settings.Values) {
	for key, to := range map[string]*bool{"web": &c.Web, "web_search": &c.WebSearch, "no_mcp": &c.NoMCP,
		"no_hooks": &c.NoHooks, "strict_hooks": &c.StrictHooks, "no_checkpoints": &c.NoCheckpoints,
		"network": &c.Sandbox.Network} {
		if chosen := v.Get(key); chosen != nil {
			*to = chosen.One() == "true"
		}
	}
	for key, to := range map[string]*string{"lsp": &c.LanguageServers, "unasked": (*string)(&c.Unasked),
		"sandbox": (*string)(&c.Sandbox.Level)} {
		if chosen := v.Get(key); chosen != nil {
			*to = chosen.One()
		}
	}
	for key, to := range map[string]*[]string{"allow_host": &c.Sandbox.AllowHosts,
		"allow_socket": &c.Sandbox.AllowSockets} {
		if chosen := v.Get(key); chosen != nil {
			*to = chosen.Text
		}
	}
}

// useRules puts the rules of settings into the configuration.
func (c *config) useRules(v *settings.Values) {
	for _, allow := range v.Counting("allow_tool") {
		c.Allow = appendNew(c.Allow, allow.Text)
		c.noteSource("allow", allow.Text, allow.Origin.String())
	}
	for _, deny := range v.Counting("deny_tool") {
		c.Deny = appendNew(c.Deny, deny.Text)
		c.noteSource("deny", deny.Text, deny.Origin.String())
	}
}

// useTexts puts the settings into the configuration whose values may be wrong.
func (c *config) useTexts(v *settings.Values) (err error) {
	if idle := v.Get("idle_timeout"); idle != nil {
		if c.IdleTimeout, err = time.ParseDuration(idle.One()); err != nil {
			return fail(ErrConfig, "%s: idle_timeout %w", idle.Origin, err)
		}
	}
	if text := v.Get("instructions"); text != nil && text.Origin.Name != theProgram {
		if c.Instructions, err = settings.Prompt(text.One()); err != nil {
			return fail(ErrConfig, "%s: %w", text.Origin, err)
		}
	}
	return nil
}

// useModel puts what settings say about the model into the configuration. Those that the program
// has chosen are there already.
func (c *config) useModel(v *settings.Values) (err error) {
	d := &c.Defaults
	for key, to := range map[string]struct {
		chosen **string
		or     *string
	}{"provider": {&c.chosen.provider, &d.Provider}, "model": {&c.chosen.model, &d.Model},
		"effort": {&c.chosen.effort, &d.Effort}} {
		if text, given := ofUser(v, key); given {
			*to.chosen = &text
		} else {
			*to.or = text
		}
	}
	for key, to := range map[string]struct{ chosen, or *string }{"profile": {&c.Profile, &d.Profile},
		"base_url": {&c.BaseURL, &d.BaseURL}, "key_command": {&c.KeyCommand, &d.KeyCommand},
		"mode": {(*string)(&c.Mode), (*string)(&d.Mode)}} {
		if text, given := ofUser(v, key); given {
			*to.chosen = text
		} else {
			*to.or = text
		}
	}
	if native, given := ofUser(v, "native"); given {
		on := native == "true"
		c.chosen.native = &on
	} else {
		d.Native = native == "true"
	}
	return errors.Join(c.useFallbacks(v), c.useWindow(v))
}

// ofUser returns the value of a setting that a flag, a file or a variable chooses, and whether it
// is a flag. It is empty if the program itself has chosen, or nobody.
func ofUser(v *settings.Values, key string) (text string, given bool) {
	chosen := v.Get(key)
	if chosen == nil || chosen.Origin.Name == theProgram {
		return "", false
	}
	return chosen.One(), chosen.Origin.Place == settings.PlaceFlag
}

// useFallbacks puts the fallbacks of settings into the configuration.
func (c *config) useFallbacks(v *settings.Values) error {
	chosen := v.Get("fallback")
	if chosen == nil || chosen.Origin.Name == theProgram {
		return nil
	}
	models, err := settings.ParseFallbacks(chosen.Text)
	if err != nil {
		return fail(ErrConfig, "%s: fallback %w", chosen.Origin, err)
	}
	if chosen.Origin.Place == settings.PlaceFlag {
		c.Fallbacks = models
	} else {
		c.Defaults.Fallbacks = models
	}
	return nil
}

// useWindow puts the window that settings say into the configuration.
func (c *config) useWindow(v *settings.Values) (err error) {
	text, given := ofUser(v, "context_window")
	if text == "" {
		return nil
	}
	w := Window{Provider: v.Get("provider").One(), Model: v.Get("model").One()}
	if w.Tokens, err = strconv.Atoi(text); given {
		c.chosen.window = &w
	} else {
		c.Defaults.ContextWindow = w
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
	v := s.settings
	number := func(key string) float64 {
		n, _ := strconv.ParseFloat(v.Text(key), 64) // which has been checked
		return n
	}
	p := &o.Policy
	p.MaxToolRounds, p.MaxTurns = int(number("max_rounds")), int(number("max_turns"))
	p.Budget = agent.Budget{Tokens: int(number("budget_tokens")), USD: number("budget_usd")}
	p.OnLimit, p.KeepCache = settings.LimitActions()[v.Text("on_limit")], v.Text("keep_cache") == "true"
	if life := v.Text("cache_lifetime"); life != settings.CacheAuto {
		p.CacheLifetime = agent.CacheLifetime(life)
	}
	o.Limits = agent.Limits{MaxJournal: int64(number("max_journal")), KeepOutputs: int64(number("keep_outputs")),
		Diffs: int(number("diffs"))}
}

// HasSettings reports whether files or variables have chosen something for the session.
func (s *Setup) HasSettings() bool {
	return slices.ContainsFunc([]settings.Place{settings.PlaceOther, settings.PlaceUser, settings.PlaceProject,
		settings.PlaceEnvironment}, func(p settings.Place) bool { return len(s.settings.Of(p)) > 0 })
}
