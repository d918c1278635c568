package attractor

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
)

// config is a [Config] with the settings of flags, variables and files, which have changed its
// fields. What it leaves empty comes from the session that is resumed or forked, else from the
// environment and the defaults.
type config struct {
	Config
	// chosen and Defaults hold what has been chosen of the model: for any session, and by files and
	// variables for new ones. They take the place of Model, Effort, ContextWindow and Native.
	chosen   choices
	Defaults defaults
	// values holds what the user has set, by flags and otherwise, in place of Settings. The
	// settings of the project are added to it.
	values *settings.Values
	// ruleFrom holds where rules come from, for messages, by the name of their list and the rule.
	ruleFrom map[string]string
	// MCP names files of MCP servers, besides the user's own and the project's. NoMCP starts no
	// servers.
	MCP   []string
	NoMCP bool
	// NoHooks runs no hooks. StrictHooks makes hooks block what they could prevent if they fail.
	NoHooks, StrictHooks bool
	// NoCheckpoints records nothing, and only says that the session uses its directory.
	NoCheckpoints bool
	// WithoutUser and WithoutProject say that files of the user, or of the project, do not count,
	// besides those that are named here and the project's documents.
	WithoutUser, WithoutProject bool
	// log is Debug. The caller closes it after the Setup.
	log *debuglog.Log
	// Environ holds the variables, each NAME=value, among which secrets are looked for. Nil means
	// os.Environ if Getenv is nil, too.
	Environ []string
	// Getenv returns a variable of the environment. Nil means os.Getenv.
	Getenv func(string) string

	mask   func(name, value string) // masks a secret; nil before there is a masker
	users  *users                   // what files and variables choose
	was    *agent.State             // of the session that is resumed or forked; nil for a new one
	client *http.Client             // of the providers; nil without log
}

// choices hold what somebody has chosen of the model. Nil means what the resumed session has. For a
// new one it means the Defaults, else the provider whose key is in the environment, and what its
// profile has. The window counts if the session begins or goes on with the model.
type choices struct {
	provider, model, effort *string
	native                  *bool
	window                  *Window
}

// usersEnv returns a variable of the environment by which files of the user's are found.
func (c *config) usersEnv(name string) string {
	switch name {
	case "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME":
		if c.WithoutUser {
			return ""
		}
	}
	return c.getenv(name)
}

// Here has what an editor chooses about the machine that it runs on. A session on another machine
// uses none of it.
type Here struct {
	// Dir and AddDirs count as those of [Config] do, whose Dir takes precedence.
	Dir     string
	AddDirs []string
	// Files wraps the environment of the directory, as the files of an editor do. What protects
	// files is outside of it. Nil adds nothing.
	Files func(env.Environment) env.Environment
}

// defaults holds choices for new sessions.
type defaults struct {
	Provider, Model, Effort, Profile, BaseURL string
	KeyCommand                                string
	ContextWindow                             Window
	Native                                    bool
	Fallbacks                                 []agent.FallbackModel
	Mode                                      permit.Mode // also for a resumed session that was not in plan mode
}

// check returns an error if a provider, profile, session or directory does not exist. It opens
// nothing. It chooses the session to continue.
func (c *config) check(ctx context.Context) error {
	if c.Profile != "" {
		if _, err := findProfile(c.Profile, false); err != nil {
			return err
		}
	}
	if name := value(c.chosen.provider); name != "" {
		if err := c.checkProviderName(name); err != nil {
			return err
		}
	}
	for _, m := range c.Fallbacks {
		if err := c.checkProviderName(m.Provider); err != nil {
			return err
		}
	}
	if err := c.lastSession(ctx); err != nil {
		return err
	}
	if err := c.checkToolRules(); err != nil {
		return err
	}
	from, err := c.from(ctx)
	if err != nil || c.elsewhere() || from != "" && c.EnvCommand == nil { // the session may work on another machine
		return err
	}
	for _, dir := range c.AddDirs {
		if err := checkDir(dir); err != nil {
			return fail(ErrConfig, "a further directory: %w", err)
		}
	}
	if c.writesFiles() {
		return checkNewDir(c.Dir)
	}
	return checkDir(cmp.Or(c.Dir, "."))
}

// elsewhere reports whether the session works on another machine.
func (c *config) elsewhere() bool { return len(c.EnvCommand) > 0 || c.Env != nil }

// getenv returns a variable of the environment.
func (c *config) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

// value returns what a pointer points to, or the zero value for nil.
func value[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

// reaches reports whether there is a provider of that name that is configured.
func (c *config) reaches(provider string) bool {
	if c.own(provider) != nil {
		return true
	}
	kind, err := c.table().Find(provider)
	if err != nil {
		return false
	}
	return c.configured(kind)
}

// configured reports whether a provider is the chosen one, or has what it needs in the environment
// or from the program.
func (c *config) configured(kind providers.Kind) bool {
	_, set := kind.Config(c.getenv)
	return set || c.Credentials[kind.Name] != nil || kind.Name == value(c.chosen.provider)
}

// useDefaults completes the configuration of a new session.
func (c *config) useDefaults() {
	d := &c.Defaults
	for _, choice := range []struct {
		chosen **string
		or     *string
	}{{&c.chosen.provider, &d.Provider}, {&c.chosen.model, &d.Model}, {&c.chosen.effort, &d.Effort}} {
		if *choice.chosen == nil && *choice.or != "" {
			*choice.chosen = choice.or
		}
	}
	if c.chosen.native == nil && d.Native {
		c.chosen.native = &d.Native
	}
	if c.Fallbacks == nil {
		c.Fallbacks = d.Fallbacks
	}
	c.Profile, c.BaseURL = cmp.Or(c.Profile, d.Profile), cmp.Or(c.BaseURL, d.BaseURL)
	c.KeyCommand = cmp.Or(c.KeyCommand, d.KeyCommand)
}

// useOthersModel chooses, for a new session for which nobody has chosen a model, the one that the
// user has chosen for the provider in another agent's settings.
func (c *config) useOthersModel(provider string) {
	if c.was != nil || c.users == nil || c.users.others == nil {
		return
	}
	m := c.users.others.Models[provider]
	if c.chosen.model != nil {
		return
	}
	if m.Model != "" {
		c.chosen.model = &m.Model
	}
	if c.chosen.effort == nil && m.Effort != "" {
		c.chosen.effort = &m.Effort
	}
}

// noFull returns an error if the mode is full, and the user's settings of another agent say that
// nobody is to choose that.
func (c *config) noFull(m permit.Mode) error {
	if m != permit.ModeFull || c.users == nil || c.users.others == nil || c.users.others.NoFull == "" {
		return nil
	}
	return fail(ErrConfig, "the mode full cannot be chosen, because %s forbids it: choose another one, or take "+
		"that away", c.users.others.NoFull)
}

// fillIn completes the configuration with the settings of the resumed session, if there is one.
func (c *config) fillIn(was *agent.State) error {
	if was == nil {
		c.useDefaults()
		return nil
	}
	provider, model := was.Provider, was.Model
	if was.Fallback != nil {
		provider, model = was.Fallback.Chosen.Provider, was.Fallback.Chosen.Model
	}
	if c.chosen.provider != nil && *c.chosen.provider != provider && c.chosen.model == nil {
		return fail(ErrNoModel, "the session's model is %s of %s: %s needs a model of its own", model, provider,
			*c.chosen.provider)
	}
	if c.chosen.provider == nil {
		if kind, err := providers.Find(provider); err == nil { // --model provider/model
			provider = cmp.Or(c.providerOfModel([]providers.Kind{kind}), provider)
		}
		c.chosen.provider = &provider
	}
	if c.chosen.model == nil {
		c.chosen.model = &model
	}
	if c.Fallbacks == nil {
		c.Fallbacks = slices.DeleteFunc(slices.Clone(was.Policy.Fallbacks.Models),
			func(m agent.FallbackModel) bool { return !c.reaches(m.Provider) })
	}
	if c.Defaults.Provider == *c.chosen.provider {
		c.BaseURL, c.KeyCommand = cmp.Or(c.BaseURL, c.Defaults.BaseURL), cmp.Or(c.KeyCommand, c.Defaults.KeyCommand)
	}
	if c.Profile == "" {
		c.Profile = was.Header.Profile
	}
	if c.chosen.native == nil {
		native := was.Header.Dialect == profiles.Native
		c.chosen.native = &native
	}
	return nil
}
