package attractor

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
)

// Config says what a session is. The zero value is a session in the current directory, with the
// provider whose key is in the environment, which may read and nothing else.
//
// A session that is resumed or forked keeps what is left empty: its directory or the machine behind its
// EnvCommand, its model, fallbacks and profile, its AddDirs, and plan mode. What is not empty counts
// from then on. Its Budget covers all that it has spent.
type Config struct {
	// Dir is the working directory. Empty means the current one.
	Dir string
	// Model is the model as provider/model, such as anthropic/claude-sonnet-5-5 or
	// ollama/qwen3-coder. A provider alone means its default model. Empty means the provider whose key
	// is in the environment.
	Model string
	// Sandbox confines commands. The zero value does not.
	Sandbox sandbox.Options
	// Budget limits what the session and its subagents may spend. The zero value does not.
	Budget agent.Budget
	// OnEvent gets each event of the session, one at a time, in order, also before Open returns. What it
	// may call is said at [agent.Options].
	OnEvent func(agent.Event)

	// Mode says what becomes of calls about which the rules ask. Empty means permit.ModeAsk.
	Mode permit.Mode
	// Ask asks a person about them. Without it and an Inbox they are refused.
	Ask permit.Asker
	// Inbox keeps what people are asked until an answer comes by its id: about calls, and questions of
	// the model. It takes the place of Ask, and belongs to one session.
	Inbox *permit.Inbox
	// Allow and Deny are permission rules, such as Bash(go test:*) and Edit(./**), one in each element.
	// RuleFiles names files of them.
	Allow, Deny []string
	RuleFiles   []string

	// Load says whose files count: settings, rules, hooks, MCP and language servers, skills, commands,
	// agents, and the user's documents. The project's documents, such as AGENTS.md, are read in any case.
	Load Load
	// TrustProject trusts what the project's files start and allow, whatever the user has decided.
	TrustProject bool

	// Store keeps the session and its subagents. Nil keeps nothing.
	Store journal.Store
	// ID names the session: it goes on if the Store has it, and is a new one else. Empty means a new one
	// with a UUID.
	ID string
	// Resume is the id of a session of the Store that goes on, or a prefix of it. Fork begins a new
	// session with its turns up to Turn; 0 means all. At most one of ID, Resume and Fork is set, but for
	// the ID of a fork.
	Resume, Fork string
	Turn         int

	// Effort is the level of effort. Empty means the provider's default.
	Effort string
	// ContextWindow is the window of the Model in tokens, for models that the catalog does not have, such
	// as those of a local server: the conversation is compacted before it is full. 0 means the catalog's.
	ContextWindow int
	// Fallbacks are used, in order, when calls of the model fail for good.
	Fallbacks []agent.FallbackModel
	// BaseURL is that of the provider's API. Empty means the environment's, or the vendor's.
	BaseURL string
	// Profile is the family whose prompt and tools the model gets: anthropic, openai or gemini. Empty
	// means that of the provider. Native chooses the vendor's dialect of the tools.
	Profile string
	Native  bool
	// IdleTimeout bounds every silence of the model. Zero means a default.
	IdleTimeout time.Duration
	// Instructions are appended to the system prompt of a new session.
	Instructions string

	// AddDirs lists further directories in which tools may read and change files.
	AddDirs []string
	// Env has the files and commands of the session, in place of this machine. The caller closes it
	// after the session. Dir is a directory in it; empty means its own.
	Env env.Environment
	// EnvCommand is a command that leads to another machine or a container, such as docker exec -i box,
	// where files and commands are. Dir is a directory there. Where attractor-env is not in PATH there,
	// it is uploaded if it is beside this program or in PATH here; else a shell does the work.
	EnvCommand []string
	// Limits bounds what commands may use.
	Limits env.Limits

	// Web offers the tool that reads public web pages.
	Web bool
	// Servers are MCP servers to start, beside those of files that count. One without a Dir starts in an
	// empty directory, unless TrustProject is set.
	Servers []mcp.Server
	// LanguageServers says what an edit has broken: names separated by commas, or auto. Empty means none.
	// They need a sandbox or TrustProject, because they read the project's build files.
	LanguageServers string

	// Vars holds variables such as ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL that count before those of
	// the process. Commands do not get them.
	Vars map[string]string
	// Secrets holds values to mask, by their names, beside the secrets of the process's environment and
	// of Vars.
	Secrets map[string]string
	// Options changes the options of the session before it begins, such as its Policy, Tools and Ledger.
	// It appends to Middleware and Closers, and calls the hooks that it finds. Client, Env, Journal and
	// State stay as they are.
	Options func(*agent.Options)
}

// Load says whose files count. Zero means nobody's; LoadUser | LoadProject means all.
type Load uint8

// What can be loaded.
const (
	// LoadUser loads the user's files, and the variables ATTRACTOR_*. What they set counts where the
	// Config says nothing, the mode full included.
	LoadUser Load = 1 << iota
	// LoadProject loads the project's files, which start and allow something only if the user has trusted
	// them, or with TrustProject. Their settings can do little more than make it stricter.
	LoadProject
)

// check returns an error if fields contradict each other.
func (c *Config) check() error {
	switch {
	case c.Ask != nil && c.Inbox != nil:
		return errors.New("the configuration has both Ask and Inbox: leave one out")
	case c.Resume != "" && (c.Fork != "" || c.ID != ""):
		return errors.New("the configuration has Resume and another session beside it: leave out Fork and ID")
	case c.Env != nil && len(c.EnvCommand) > 0:
		return errors.New("the configuration has both Env and EnvCommand: leave one out")
	case (c.Resume != "" || c.Fork != "") && c.Store == nil:
		return errors.New("the configuration names a session and no Store that has it")
	}
	return nil
}

// host returns the configuration for the wiring.
func (c *Config) host() host.Config {
	h := host.Config{
		Store: c.Store, ID: c.ID, Resume: c.Resume, Fork: c.Fork, Turn: c.Turn,
		Dir: c.Dir, Env: c.Env, EnvCommand: c.EnvCommand, AddDirs: c.AddDirs, Limits: c.Limits, Sandbox: c.Sandbox,
		WithoutUser: c.Load&LoadUser == 0, WithoutProject: c.Load&LoadProject == 0, TrustProject: c.TrustProject, Embedded: true,
		Mode: c.Mode, Asker: c.Ask, AllowTools: c.Allow, DenyTools: c.Deny, Rules: c.RuleFiles,
		Fallbacks: c.Fallbacks, BaseURL: c.BaseURL, Profile: c.Profile, IdleTimeout: c.IdleTimeout, Instructions: c.Instructions,
		Web: c.Web, Servers: c.Servers, LanguageServers: c.LanguageServers,
		Interactive: c.Ask != nil || c.Inbox != nil,
		Secrets:     c.Secrets, MCPWait: host.DefaultMCPWait, Environ: os.Environ(), Getenv: func(name string) string {
			return cmp.Or(c.Vars[name], os.Getenv(name))
		},
	}
	if provider, model, both := strings.Cut(c.Model, "/"); c.Model != "" {
		h.Provider = &provider
		if both {
			h.Model = &model
		}
	}
	if c.ContextWindow > 0 {
		h.ContextWindow = &host.Window{Tokens: c.ContextWindow}
	}
	if c.Effort != "" {
		h.Effort = &c.Effort
	}
	if c.Native {
		h.Native = &c.Native
	}
	if c.Inbox != nil {
		h.Asker = c.Inbox.Approve
	}
	return h
}
