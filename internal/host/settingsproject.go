package host

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// SettingsFile returns the file of the project's settings, whether or not it exists.
func (p *Project) SettingsFile() string {
	return filepath.Join(p.Root, filepath.FromSlash(projectSettings))
}

// settings returns the values in the project's file. Mistakes says what is wrong in it.
func (p *Project) settings() (values []Value, mistakes []error) {
	f := p.File(projectSettings)
	if f == nil || f.Link != "" && f.Data == nil {
		return nil, nil
	}
	return parseSettings(p.SettingsFile(), f.Data, PlaceProject, "")
}

// UseProject adds the settings of a project to those of the user. What a project cannot choose has no effect, and neither has anything of a
// project that is not trusted. The problems say what the user should know.
func (s *Settings) UseProject(p *Project) (problems []error) {
	values, mistakes := p.settings()
	if p.Trusted {
		problems = mistakes
	}
	for _, v := range values {
		set, err := findSetting(v.Key)
		if err != nil {
			continue // cannot happen
		}
		above := s.Get(v.Key)
		switch {
		case set.Project != RightAny && set.Project != RightStricter:
			v.Unused = "a project cannot set it: " + set.Why
			problems = append(problems, fmt.Errorf("%s: %s has no effect. A project cannot set it: %s", v.Origin, v.Key, set.Why))
		case !p.Trusted:
			v.Unused = p.because()
		case above != nil && above.Origin.Place > PlaceProject:
			v.Unused = above.Origin.String() + " counts"
		case set.Project == RightStricter:
			if v.Unused = s.looser(v.Key, v.one()); v.Unused != "" {
				problems = append(problems, fmt.Errorf("%s: %s has no effect. A project can only make it stricter: %s", v.Origin, v.Key, v.Unused))
			}
		}
		s.add(v)
	}
	return problems
}

// untrusted returns the keys of a project's settings that would count if it were trusted.
func (s *Settings) untrusted(p *Project) (keys []string) {
	if p.Trusted {
		return nil
	}
	for _, v := range s.values {
		if v.Origin.Place == PlaceProject && v.Unused == p.because() {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// looser returns why a project's value permits more than the user's, or "" if it does not. Without a value of the user the default counts.
func (s *Settings) looser(key, text string) string {
	was, origin := defaultText(key), "the default is"
	if users := s.Get(key); users != nil {
		was, origin = s.joined(key), users.Origin.String()+" has"
	}
	ok := true
	switch key {
	case "web":
		ok = text == "false" || was == "true"
	case "strict_hooks":
		ok = text == "true" || was == "false"
	case "sandbox":
		ok = strictness(text) >= strictness(was)
	case "limit":
		return looserLimits(text, was)
	default: // a number, of which 0 means no limit
		ok = !numberLooser(text, was)
	}
	if ok {
		return ""
	}
	return origin + " " + was
}

// joined returns the values of a setting that count as one text, in which later ones take precedence.
func (s *Settings) joined(key string) string {
	var texts []string
	for _, v := range slices.Backward(s.Counting(key)) {
		texts = append(texts, v.Text...)
	}
	return strings.Join(texts, ",")
}

// defaultText returns the default of a setting that a project can make stricter.
func defaultText(key string) string {
	switch key {
	case "web", "strict_hooks":
		return "false"
	case "sandbox":
		return string(sandbox.Off)
	case "max_rounds":
		return strconv.Itoa(DefaultRounds)
	case "limit":
		return ""
	}
	return "0"
}

// DefaultRounds is the default of max_rounds.
const DefaultRounds = 200

// strictness orders the levels of sandboxes.
func strictness(level string) int {
	return slices.Index([]string{string(sandbox.Off), string(sandbox.WorkspaceWeak), string(sandbox.Workspace), string(sandbox.ReadOnly)}, level)
}

// numberLooser reports whether a number permits more than another one. 0 means no limit.
func numberLooser(text, was string) bool {
	now, err := strconv.ParseFloat(text, 64)
	before, wrong := strconv.ParseFloat(was, 64)
	return err != nil || wrong != nil || before > 0 && (now == 0 || now > before)
}

// looserLimits returns which of the limits of commands permits more than the user's, or "".
func looserLimits(text, was string) string {
	var now, before env.Limits
	if err := ParseLimits(&now, text); err != nil {
		return err.Error()
	}
	if was != "" {
		if err := ParseLimits(&before, was); err != nil {
			return err.Error()
		}
	}
	before.Processes = cmp.Or(before.Processes, env.DefaultProcesses)
	for _, l := range []struct {
		name        string
		now, before int64
	}{
		{"processes", now.Processes, before.Processes}, {"memory", now.Memory, before.Memory},
		{"file-size", now.FileSize, before.FileSize}, {"open-files", now.OpenFiles, before.OpenFiles},
	} {
		if l.now != 0 && l.before > 0 && (l.now < 0 || l.now > l.before) {
			return fmt.Sprintf("the limit of %s is %d without it", l.name, l.before)
		}
	}
	return ""
}

// useProjectSettings puts the settings of the project into the configuration, as far as they count.
func (s *Setup) useProjectSettings(c *Config) {
	s.settings = c.Settings.clone()
	if c.Embedded {
		return
	}
	for _, problem := range s.settings.UseProject(s.Project) {
		s.warnings.add("config", problem.Error())
	}
	s.unused.add("settings", s.settings.untrusted(s.Project), s.Project.because())
	for _, v := range s.settings.values {
		if v.Origin.Place == PlaceProject && v.Unused == "" {
			if err := c.set(v.Key, v.one()); err != nil {
				s.warnings.add("config", err.Error())
			}
		}
	}
}

// clone returns settings that can change, also of nil.
func (s *Settings) clone() *Settings {
	if s == nil {
		return new(Settings)
	}
	return &Settings{slices.Clone(s.values)}
}

// set puts a setting of a project into the configuration. Those of the policy are put there by [Setup.Limit].
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
		return ParseLimits(&c.Limits, text)
	}
	return nil
}

// LimitActionNames returns the values of on_limit.
func LimitActionNames() []string { return slices.Sorted(maps.Keys(LimitActions())) }

// LimitActions returns what the values of on_limit mean.
func LimitActions() map[string]agent.OnLimit {
	return map[string]agent.OnLimit{"stop": agent.EndOnLimit, "summarize": agent.SummarizeOnLimit}
}

// Limit puts the limits that the project sets into a policy.
func (s *Setup) Limit(p *agent.Policy) {
	if s.settings == nil {
		return
	}
	for _, v := range s.settings.values {
		if v.Origin.Place != PlaceProject || v.Unused != "" {
			continue
		}
		n, err := strconv.ParseFloat(v.one(), 64)
		if err != nil && v.Key != "on_limit" {
			continue // it is a setting of another kind
		}
		switch v.Key {
		case "max_rounds":
			p.MaxToolRounds = int(n)
		case "max_turns":
			p.MaxTurns = int(n)
		case "budget_tokens":
			p.Budget.Tokens = int(n)
		case "budget_usd":
			p.Budget.USD = n
		case "on_limit":
			p.OnLimit = LimitActions()[v.one()]
		}
	}
}

// HasSettings reports whether files or variables have chosen something for the session.
func (s *Setup) HasSettings() bool {
	return s.settings != nil && slices.ContainsFunc(s.settings.values, func(v Value) bool { return v.Unused == "" && v.Origin.Place != PlaceFlag })
}

// SettingsState says whether the project's settings count, for a person.
func (p *Project) SettingsState() string {
	switch {
	case p.File(projectSettings) == nil && p.Err(projectSettings) == nil:
		return "not there"
	case p.Trusted:
		return "used"
	}
	return "not used, because " + p.because()
}
