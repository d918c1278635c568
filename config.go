package attractor

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
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
	"github.com/attractor-go/attractor/secret"
)

// Config configures a session. The zero value stands for a session in the current directory, with
// the provider whose key is in the environment, that may only read.
//
// For a session that is resumed or forked, an empty field means: as before. That holds for its
// directory or the machine behind its EnvCommand, its model, effort, fallbacks, profile and
// dialect, its AddDirs, and plan mode. What is not empty counts from then on. Its Budget covers all
// that it has spent.
type Config struct {
	// Dir is the working directory. Empty means the current one.
	Dir string
	// Model is the model as provider/model, such as anthropic/claude-sonnet-5-5 or
	// ollama/qwen3-coder. A provider alone means its default model. Empty means the provider whose
	// key is in the environment.
	Model string
	// Sandbox confines commands. The zero value does not. The file tools refuse to change the files
	// of Sandbox.Protect without a sandbox, too.
	Sandbox sandbox.Options
	// Budget limits what the session and its subagents may spend. The zero value does not.
	Budget agent.Budget
	// OnEvent gets each event of the session, one at a time, in order, also before Open returns.
	// [agent.Options] says what it may call.
	OnEvent func(agent.Event)

	// Mode says what becomes of calls about which the rules ask. Empty means permit.ModeAsk.
	Mode permit.Mode
	// Unasked may be sandbox.Observe: commands that no rule allows run without a question in a
	// sandbox in which they can change nothing. A person is asked only if it refuses them
	// something. It needs Linux, and no Sandbox.
	Unasked sandbox.Level
	// Ask asks a person about the calls that the rules ask about. Without it and an Inbox they are
	// refused. If the mode changes while the session runs, set Interactive, too.
	Ask permit.Asker
	// Interactive says that a person or a client can change mode and model while the session runs.
	// The model then has the tool that leaves plan mode, which it also has if Mode is
	// permit.ModePlan.
	Interactive bool
	// Inbox keeps what people are asked until an answer comes by its id: about calls, and questions
	// of the model. It takes the place of Ask, implies Interactive, and belongs to one session.
	Inbox *permit.Inbox
	// Allow and Deny are permission rules, such as Bash(go test:*) and Edit(./**), one in each
	// element. RuleFiles names files of them.
	Allow, Deny []string
	RuleFiles   []string

	// Load says whose files count: settings, rules, hooks, MCP and language servers, skills,
	// commands, agents, and the user's documents. The project's documents, such as AGENTS.md, are
	// read in any case.
	Load Load
	// TrustProject trusts what the project's files start and allow, whatever the user has decided.
	TrustProject bool
	// Settings are values of settings, as docs/configuration.md lists them. They count before those
	// of files and variables, and after what else the Config says. Ignore has the keys of settings
	// that files of the user and variables do not choose.
	Settings []Setting
	Ignore   []string

	// Store keeps the session and its subagents. Nil keeps nothing.
	Store journal.Store
	// ID names the session: it goes on if the Store has it, and is a new one else. Empty means a
	// new one with a UUID.
	ID string
	// Resume is the id of a session of the Store that goes on, or a prefix of it. Fork begins a new
	// session with its turns up to Turn; 0 means all. Continue goes on with the newest session of
	// Dir that has an input and that nobody has open. At most one of ID, Resume, Fork and Continue
	// is set, but for the ID of a fork.
	Resume, Fork string
	Turn         int
	Continue     bool

	// Effort is the level of effort. Empty means the provider's default.
	Effort string
	// ContextWindow is the window of the Model in tokens, for models that the catalog does not
	// have, such as those of a local server: the conversation is compacted before it is full. 0
	// means the catalog's.
	ContextWindow int
	// Fallbacks are used, in order, when calls of the model fail for good.
	Fallbacks []agent.FallbackModel
	// BaseURL is that of the provider's API. Empty means the environment's, or the vendor's.
	BaseURL string
	// KeyCommand is a command that prints the key of the chosen provider, in place of a variable.
	// It runs before the first request, and again when the server refuses the key.
	KeyCommand string
	// Credentials stand in for the keys of vendors' providers, by the providers' names, such as
	// amazon-bedrock: those of a cloud, of which module cloud has two. They count where neither a
	// variable nor KeyCommand gives a key, and are asked before the first request to the provider.
	Credentials map[string]providers.Credentials
	// Providers are the program's own, beside the vendors'. Model and Fallbacks name them as they
	// name themselves, and their models; files and variables of the user do not name them. They
	// know their server, so BaseURL, IdleTimeout and Debug do not apply to them. Models has the
	// windows and prices of their models.
	Providers []llm.Provider
	// Kinds are providers that a row describes as those of package providers: where their servers
	// are, what they speak, which variable has the key. Model and Fallbacks name them by their
	// names, and Credentials can stand in for their keys. Those of the user's settings are beside
	// them, unless they have the same names.
	Kinds []providers.Kind
	// Models are facts about models, such as windows and prices, in place of those that the library
	// has or beside them.
	Models []llm.Model
	// Profile is the family whose prompt and tools the model gets: anthropic, openai or gemini.
	// Empty means that of the provider. Native chooses the vendor's dialect of the tools.
	Profile string
	Native  bool
	// IdleTimeout bounds every silence of the model. Zero means a default.
	IdleTimeout time.Duration
	// Instructions are appended to the system prompt of a new session.
	Instructions string

	// Worktree is the name of a git worktree, and of its branch after [worktree.BranchPrefix], in
	// which a new session works instead of in Dir. It is made from what is checked out in Dir's
	// repository, unless it is there from before, and goes with the session if nothing would be
	// lost; [Setup.Worktree] says so.
	Worktree string
	// AddDirs lists further directories in which tools may read and change files.
	AddDirs []string
	// Env has the files and commands of the session, in place of this machine. The caller closes it
	// after the session. Dir is a directory in it; empty means its own.
	Env env.Environment
	// EnvCommand is a command that leads to another machine or a container, such as docker exec -i
	// box, where files and commands are. Dir is a directory there. Nil means the resumed session's,
	// and a slice without words this machine. Where attractor-remote is not in PATH there, what
	// EnvHelper returns is uploaded; nil looks beside this program and where [EnvHelper] does.
	// Where there is none, a shell does the work.
	EnvCommand []string
	EnvHelper  Helper
	// Here has what counts only for a session on this machine.
	Here Here
	// Limits bounds what commands may use.
	Limits env.Limits

	// Web offers the tool that reads public web pages, and WebSearch the search of the web that the
	// vendor of the model runs: a model without one is an [ErrConfig]. Each search costs extra.
	Web, WebSearch bool
	// Servers are MCP servers to start, beside those of files that count. One without a Dir starts
	// in an empty directory, unless TrustProject is set.
	Servers []mcp.Server
	// MCPWait is how long the session waits for servers that are still starting, so that the first
	// request to the model has their tools. Zero means 10 s, and less means not at all.
	MCPWait time.Duration
	// LanguageServers says what an edit has broken: names separated by commas, or auto. Empty means
	// none. They need a sandbox or TrustProject, because they read the project's build files.
	LanguageServers string

	// Checks are commands that decide whether an input is done. They need Checkpoints.
	Checks Checks
	// Checkpoints is a directory in which the trees are kept to which the session's changes can be
	// taken back, such as [undo.UserDir]. Empty keeps none.
	Checkpoints string

	// Vars holds variables such as ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL that count before those
	// of the process. Commands do not get them.
	Vars map[string]string
	// Secrets holds values to mask, by their names, beside the secrets of the process's environment
	// and of Vars.
	Secrets map[string]string
	// Debug gets a log of the session, with its requests to models and their responses, without
	// secrets.
	Debug io.Writer
	// Instrument adds what observes the session to its options, after all else. The masker knows
	// the session's secrets.
	Instrument func(o *agent.Options, secrets *secret.Masker)
	// Options changes the options of the session before it begins, such as its Policy, Tools and
	// Ledger. It appends to Middleware and Closers, also to the Client's Middleware, and calls the
	// hooks that it finds. Client, Env, Journal, State and Next themselves stay as they are.
	Options func(*agent.Options)

	continued, inUse string // the directory of Continue, and which newer session of it another process has open
	read             *users // by Check
}

// users holds what files of the user and variables choose.
type users struct {
	values []settings.Value
	others *settings.Others // of other agents
}

// Setting is a value of a setting.
type Setting struct {
	Key    string   // such as budget_usd
	Values []string // as the command's flag takes them; only lists have several
	From   string   // who says so, for messages, such as --budget-usd
}

// Set puts a setting in the place of the one with its key.
func (c *Config) Set(key, from string, values ...string) {
	c.Unset(key)
	c.Settings = append(c.Settings, Setting{key, values, from})
}

// Unset removes the settings with the keys.
func (c *Config) Unset(keys ...string) {
	c.Settings = slices.DeleteFunc(slices.Clone(c.Settings),
		func(s Setting) bool { return slices.Contains(keys, s.Key) })
}

// Load says whose files count. Zero means nobody's; LoadUser | LoadProject means all.
type Load uint8

// What can be loaded.
const (
	// LoadUser loads the user's files, and the variables ATTRACTOR_*. What they set counts where
	// the Config says nothing, the mode full included.
	LoadUser Load = 1 << iota
	// LoadProject loads the project's files, which start and allow something only if the user has
	// trusted them, or with TrustProject. Their settings can do little more than make it stricter.
	LoadProject
)

// Check returns an error if a provider, profile, session or directory does not exist, or if fields
// contradict each other. It opens nothing. It chooses the session to Continue, and reads the user's
// settings, which then count in each session that is opened with c or a copy of it.
func (c *Config) Check(ctx context.Context) error {
	w, err := c.wiring()
	if err != nil {
		return err
	}
	if err := w.check(ctx); err != nil {
		return err
	}
	c.read = w.users
	c.Resume, c.Dir, c.EnvCommand, c.Continue, c.continued, c.inUse = w.Resume, w.Dir, w.EnvCommand, w.Continue,
		w.continued, w.inUse
	return nil
}

// CheckProvider returns an error if the environment lacks what the provider of a new session needs.
// It makes no request.
func (c *Config) CheckProvider() error {
	w, err := c.wiring()
	if err != nil {
		return err
	}
	return w.checkProvider()
}

// Table returns the providers of which Model and Fallbacks can name one: those that the library
// knows, the Kinds, and those of the user's settings if Load says so.
func (c *Config) Table() (providers.Table, error) {
	w, err := c.wiring()
	if err != nil {
		return nil, err
	}
	return w.table(), nil
}

// ListModels asks the server of a provider for its models, with the key that a session would send,
// as [providers.Kind.List] does. It makes no request, and configured is false, if what the provider
// needs is neither in the environment nor in the settings. Credentials are not used.
func (c *Config) ListModels(ctx context.Context, provider string) (models []llm.Model, configured bool, err error) {
	w, err := c.wiring()
	if err != nil {
		return nil, false, err
	}
	kind, err := findProvider(w.table(), provider)
	if err != nil {
		return nil, false, err
	}
	w.useDefaults()
	known, set := kind.Config(w.getenv)
	if w.BaseURL != "" && kind.Name == value(w.chosen.provider) {
		known.BaseURL, set = w.BaseURL, true
	}
	if !set {
		return nil, false, nil
	}
	if command := w.keyCommandOf(kind); command != "" {
		if known.APIKey, err = w.runKeyCommand(ctx, command); err != nil {
			return nil, true, err
		}
	}
	known.HTTPClient = new(http.Client)
	models, err = kind.List(ctx, known)
	return models, true, err
}

// contradiction returns an error if fields contradict each other.
func (c *Config) contradiction() error {
	switch {
	case c.Ask != nil && c.Inbox != nil:
		return fail(ErrConfig, "the configuration has both Ask and Inbox: leave one out")
	case c.Resume != "" && (c.Fork != "" || c.ID != "") || c.Continue && (c.Resume != "" || c.Fork != "" || c.ID != ""):
		return fail(ErrConfig, "the configuration has several sessions: leave all but one of ID, Resume, Fork and "+
			"Continue out")
	case c.Worktree != "" && (c.Resume != "" || c.Continue):
		return fail(ErrConfig, "a session that goes on does so in its own directory: leave the worktree out")
	case c.Worktree != "" && (c.Env != nil || len(c.EnvCommand) > 0):
		return fail(ErrConfig, "a worktree is made on this machine, and the session is elsewhere: make one there "+
			"(git worktree add), and work in its directory")
	case c.Env != nil && len(c.EnvCommand) > 0:
		return fail(ErrConfig, "the configuration has both Env and EnvCommand: leave one out")
	case slices.ContainsFunc(c.Providers, func(p llm.Provider) bool {
		return p == nil || p.Name() == "" || strings.Contains(p.Name(), "/")
	}):
		return fail(ErrConfig, "one of the Providers of the configuration has no name, or one with a slash, which no "+
			"model can follow")
	case c.Unasked != "" && c.Unasked != sandbox.Off && c.Unasked != sandbox.Observe:
		return fail(ErrConfig, "Unasked of the configuration is %q; it can be %q or %q", c.Unasked, sandbox.Off,
			sandbox.Observe)
	case c.Turn != 0 && c.Fork == "":
		return fail(ErrConfig, "the configuration has a Turn and no Fork that it belongs to")
	case (c.Resume != "" || c.Fork != "") && c.Store == nil:
		return fail(ErrConfig, "the configuration names a session and no Store that has it")
	}
	for _, k := range c.Kinds {
		if err := k.Check(); err != nil {
			return fail(ErrConfig, "the provider %q of the configuration: %w", k.Name, err)
		}
	}
	return nil
}

// wiring returns the configuration with the settings of files and variables, for the wiring.
func (c *Config) wiring() (*config, error) {
	w, err := c.fields()
	if err != nil {
		return nil, err
	}
	if w.users = c.read; w.users == nil {
		w.users = &users{others: new(settings.Others)}
		if !w.WithoutUser {
			if w.users.values, err = settings.Users(w.Getenv); err != nil {
				return nil, fail(ErrConfig, "%w", err)
			}
			w.users.others = settings.ReadOthers(w.Getenv)
			w.users.values = append(w.users.values, w.users.others.Values...)
		}
	}
	if err := c.applySettings(w, w.users.values); err != nil {
		return nil, err
	}
	return w, w.checkUnasked()
}

// apart returns the configuration without the settings of files and variables, for uses other than
// sessions.
func (c *Config) apart() (*config, error) {
	w, err := c.fields()
	if err != nil {
		return nil, err
	}
	w.Dir = cmp.Or(w.Dir, ".")
	return w, c.applySettings(w, nil)
}

// fields returns the configuration of the wiring as the fields of c set it, without any settings.
func (c *Config) fields() (*config, error) {
	if err := c.contradiction(); err != nil {
		return nil, err
	}
	w := &config{Config: *c, WithoutUser: c.Load&LoadUser == 0, WithoutProject: c.Load&LoadProject == 0,
		Environ: os.Environ(), Getenv: func(name string) string { return cmp.Or(c.Vars[name], os.Getenv(name)) }}
	for _, list := range []*[]string{&w.AddDirs, &w.Allow, &w.Deny, &w.RuleFiles} {
		*list = slices.Clip(*list)
	}
	w.Kinds = slices.Clip(w.Kinds)
	w.Interactive, w.MCPWait = c.Interactive || c.Inbox != nil, cmp.Or(c.MCPWait, DefaultMCPWait)
	w.noteSource("allow", c.Allow, "Allow of attractor.Config")
	w.noteSource("deny", c.Deny, "Deny of attractor.Config")
	switch log := c.Debug.(type) {
	case nil:
	case *debuglog.Log:
		w.log = log
	default:
		w.log = debuglog.To("the debug log", log)
	}
	if provider, model, both := strings.Cut(c.Model, "/"); c.Model != "" {
		w.chosen.provider = &provider
		if both {
			w.chosen.model = &model
		}
	}
	if c.ContextWindow > 0 {
		w.chosen.window = &Window{Tokens: c.ContextWindow}
	}
	if c.Effort != "" {
		w.chosen.effort = &c.Effort
	}
	if c.Native {
		w.chosen.native = &c.Native
	}
	if c.Inbox != nil {
		w.Ask = c.Inbox.Approve
	}
	return w, nil
}
