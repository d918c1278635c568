package attractor

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/secret"
)

// config is a [Config] with the settings of flags, variables and files. What it leaves empty comes
// from the session that is resumed or forked, else from the environment and the defaults.
type config struct {
	// Store keeps the session and its subagents. Nil keeps nothing.
	Store journal.Store
	// ID names a new session. Empty means a new UUID.
	ID string
	// Resume is the id of the session to resume, or a prefix of it. Fork is the same for a session
	// to fork after the turn Turn; 0 means after its last. At most one of the two is set.
	Resume, Fork string
	Turn         int
	// Continue resumes the newest session of Dir that has an input and that nobody has open. Resume
	// and Fork are empty then.
	Continue bool

	// Dir is the working directory. Empty means the resumed session's, or the current one. With an
	// EnvCommand it is a directory over there, and empty means the one in which the command's shell
	// starts.
	Dir string
	// Worktree names the git worktree of Dir's repository in which the session works. It is made if
	// there is none. Empty means none.
	Worktree string
	// EnvCommand is a command of this machine that runs another one where the session's files and
	// commands are, such as docker exec -i box or ssh host. Nil means the resumed session's, or
	// none. Empty, it means this machine.
	EnvCommand []string
	// EnvHelper finds the program to upload there. Nil is one that is no attractor.
	EnvHelper Helper
	// Env has the files and commands of the session, in place of this machine. The caller closes
	// it. Dir is a directory in it; empty means its own. EnvCommand is nil then.
	Env env.Environment
	// Here has what counts only for a session on this machine.
	Here Here
	// Provider, Model and Effort choose the model. Nil means the resumed session's. For a new
	// session it means the provider whose key is in the environment, and its profile's model and
	// effort.
	Provider, Model, Effort *string
	// Fallbacks lists the models to use, in order, when calls of the chosen model fail for good.
	// Nil means the resumed session's fallbacks, as far as their keys are in the environment.
	Fallbacks []agent.FallbackModel
	// Settings holds what the user has set, by flags and otherwise. The settings of the project are
	// added to it. Defaults has what files and variables choose of the fields below: a resumed
	// session keeps its own.
	Settings *settings.Values
	Defaults defaults
	// Providers are those that the program has made itself, and Models its facts.
	Providers []llm.Provider
	Models    []llm.Model
	// Kinds are the program's and the user's own rows of the table of providers.
	Kinds []providers.Kind
	// Profile is the name of a profile. Native chooses its native dialect.
	Profile string
	Native  *bool
	// Web offers the tool that reads public web pages, and WebSearch the search that the vendor runs.
	Web, WebSearch bool
	// BaseURL is the URL of the provider's API. Empty means the environment's, or the vendor's.
	BaseURL string
	// KeyCommand prints the key of the chosen provider.
	KeyCommand string
	// Credentials are what the keys of vendors' providers may come from, by their names.
	Credentials map[string]providers.Credentials
	mask        func(name, value string) // masks a secret; nil before there is a masker
	// ContextWindow is that of a model, which counts if the session begins or goes on with the
	// model. Nil means the resumed session's for a model that the catalog lacks, else the
	// Defaults'.
	ContextWindow *Window
	// IdleTimeout bounds every silence of the model.
	IdleTimeout time.Duration
	// Instructions are appended to the system prompt of a new session.
	Instructions string
	// Limits bounds what commands may use.
	Limits env.Limits
	// Sandbox confines commands. The zero value does not.
	Sandbox sandbox.Options
	// Unasked is Observe if commands run without a question where they can change nothing.
	Unasked sandbox.Level
	// Mode says what becomes of calls that the rules ask about. Empty means ModePlan for a resumed
	// session that was in plan mode, else the Defaults' or ModeAsk. Asker asks a person; nil means
	// that there is nobody to ask.
	Mode  permit.Mode
	Asker permit.Asker
	// Interactive says that a person or a client can change mode and model while the session runs.
	// The model then has the tool that leaves plan mode.
	Interactive bool
	// AddDirs lists further directories in which tools may read and change files. A resumed session
	// also keeps those that it had.
	AddDirs []string
	// AllowTools and DenyTools hold permission rules of the user's for this session. The model is
	// not offered a tool that a rule without a pattern denies.
	AllowTools, DenyTools []string
	// ruleFrom says of rules, after the name of their list, who has said them, for messages.
	ruleFrom map[string]string
	// Checks decide whether an input is done.
	Checks Checks
	// Rules names files of permission rules, besides the user's own and the project's.
	Rules []string
	// MCP names files of MCP servers, besides the user's own and the project's. Servers holds
	// further ones, as an editor brings them: they count as the user's, and win over all others
	// with their names. NoMCP starts no servers.
	MCP     []string
	Servers []mcp.Server
	NoMCP   bool
	// MCPWait is how long a session waits for servers that are still starting, so that the first
	// request to the model has their tools. A host that a person looks at does not wait.
	MCPWait time.Duration
	// LanguageServers chooses the servers that say what an edit has broken: [AllLanguageServers],
	// or names separated by commas. Empty means [NoLanguageServers].
	LanguageServers string
	// NoHooks runs no hooks. StrictHooks makes hooks block what they could prevent if they fail.
	NoHooks, StrictHooks bool
	// WithoutUser and WithoutProject say that files of the user, or of the project, do not count,
	// besides those that are named here and the project's documents.
	WithoutUser, WithoutProject bool
	// TrustProject trusts the files of the project that start or allow something, this time,
	// whatever the user decided.
	TrustProject bool

	// Checkpoints is the directory of the user's checkpoints, see [undo.UserDir]: the session's
	// changes can be taken back. Empty means none, and that others do not know of the session.
	// NoCheckpoints records nothing, and only says that the session uses its directory.
	Checkpoints   string
	NoCheckpoints bool

	// Instrument adds what observes a session to its options, such as spans, right before the
	// session starts. The masker knows the session's secrets. Nil adds nothing.
	Instrument func(o *agent.Options, secrets *secret.Masker)

	// Secrets holds values to mask, by their names, besides those of the environment.
	Secrets map[string]string
	// Debug gets the log of the session, and its requests to models with the responses, without
	// secrets. Nil keeps none. The caller closes it after the Setup.
	Debug *debuglog.Log
	// Environ holds the variables, each NAME=value, among which secrets are looked for. Nil means
	// os.Environ if Getenv is nil, too.
	Environ []string

	// Getenv returns a variable of the environment. Nil means os.Getenv.
	Getenv func(string) string

	users            *users       // what files and variables choose
	was              *agent.State // of the session that is resumed or forked; nil for a new one
	client           *http.Client // of the providers; nil without Debug
	continued, inUse string       // the directory of Continue, and which newer session of it another process has open
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
	if name := value(c.Provider); name != "" {
		if err := c.knows(name); err != nil {
			return err
		}
	}
	for _, m := range c.Fallbacks {
		if err := c.knows(m.Provider); err != nil {
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

func (c *config) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

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
	return set || c.Credentials[kind.Name] != nil || kind.Name == value(c.Provider)
}

// useDefaults completes the configuration of a new session.
func (c *config) useDefaults() {
	d := &c.Defaults
	for _, choice := range []struct {
		chosen **string
		or     *string
	}{{&c.Provider, &d.Provider}, {&c.Model, &d.Model}, {&c.Effort, &d.Effort}} {
		if *choice.chosen == nil && *choice.or != "" {
			*choice.chosen = choice.or
		}
	}
	if c.Native == nil && d.Native {
		c.Native = &d.Native
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
	if c.Model != nil {
		return
	}
	if m.Model != "" {
		c.Model = &m.Model
	}
	if c.Effort == nil && m.Effort != "" {
		c.Effort = &m.Effort
	}
}

// noFull returns an error if the mode is full, and the user's settings of another agent say that
// nobody is to choose that.
func (c *config) noFull(m permit.Mode) error {
	if m != permit.ModeFull || c.users == nil || c.users.others == nil || c.users.others.NoFull == "" {
		return nil
	}
	return fail(ErrConfig, "the mode full cannot be chosen, because %s forbids it: choose another one, or take that away",
		c.users.others.NoFull)
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
	if c.Provider != nil && *c.Provider != provider && c.Model == nil {
		return fail(ErrNoModel, "the session's model is %s of %s: %s needs a model of its own", model, provider,
			*c.Provider)
	}
	if c.Provider == nil {
		if kind, err := providers.Find(provider); err == nil { // --model provider/model
			provider = cmp.Or(c.providerOfModel([]providers.Kind{kind}), provider)
		}
		c.Provider = &provider
	}
	if c.Model == nil {
		c.Model = &model
	}
	if c.Fallbacks == nil {
		c.Fallbacks = slices.DeleteFunc(slices.Clone(was.Policy.Fallbacks.Models),
			func(m agent.FallbackModel) bool { return !c.reaches(m.Provider) })
	}
	if c.Defaults.Provider == *c.Provider {
		c.BaseURL, c.KeyCommand = cmp.Or(c.BaseURL, c.Defaults.BaseURL), cmp.Or(c.KeyCommand, c.Defaults.KeyCommand)
	}
	if c.Profile == "" {
		c.Profile = was.Header.Profile
	}
	if c.Native == nil {
		native := was.Header.Dialect == profiles.Native
		c.Native = &native
	}
	return nil
}
