package attractor

import (
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
type Config struct {
	// Dir is the working directory. Empty means the current one, or that of the session to resume.
	Dir string
	// Model is the model as provider/model, such as anthropic/claude-sonnet-5-5 or
	// ollama/qwen3-coder. A provider alone means its default model. Empty means the provider whose key
	// is in the environment.
	Model string
	// Sandbox confines commands. The zero value does not.
	Sandbox sandbox.Options
	// Budget limits what the session and its subagents may spend. The zero value does not.
	Budget agent.Budget
	// OnEvent gets each event of the session, one at a time, in order.
	OnEvent func(agent.Event)

	// Mode says what becomes of calls about which the rules ask. Empty means permit.ModeAsk.
	Mode permit.Mode
	// Ask asks a person about them. If it is nil, they are refused, unless Inbox is set.
	Ask permit.Asker
	// Inbox keeps what a person is asked until its answer comes by id: about calls, and questions of
	// the model.
	Inbox *permit.Inbox
	// Allow and Deny are permission rules, such as Bash(go test:*) and Edit(./**). Rules names files of
	// them.
	Allow, Deny []string
	Rules       []string

	// Load says whose files count: rules, hooks, servers, skills, commands and agents. The documents of
	// the project, such as AGENTS.md, are read in any case.
	Load Load
	// TrustProject trusts what the project's files start and allow, whatever the user has decided.
	TrustProject bool

	// Store keeps the session and its subagents. Nil keeps nothing.
	Store journal.Store
	// ID names the session: it goes on if the Store has it, and is a new one else. Empty means a new one
	// with a UUID.
	ID string
	// Resume is the id of a session of the Store that goes on, or a prefix of it. Fork begins a new
	// session with its turns up to Turn; 0 means all. At most one of them is set.
	Resume, Fork string
	Turn         int

	// Effort is the level of effort. Empty means the provider's default.
	Effort string
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
	// where files and commands are. Dir is a directory there.
	EnvCommand []string
	// Limits bounds what commands may use.
	Limits env.Limits

	// Web offers the tool that reads public web pages.
	Web bool
	// Servers are MCP servers to start, beside those of files that count.
	Servers []mcp.Server
	// LanguageServers says what an edit has broken: names separated by commas, or all. Empty means none.
	LanguageServers string

	// Secrets holds values to mask, by their names, beside those of the environment.
	Secrets map[string]string
	// Getenv returns a variable of the environment. Nil means os.Getenv.
	Getenv func(string) string
	// Options has the last word about the options of the session, such as its Policy, Tools and
	// Middleware. Subagents have them too.
	Options func(*agent.Options)
}

// Load says whose files count.
type Load uint8

// What can be loaded.
const (
	LoadNone    Load = iota
	LoadUser         // the user's files
	LoadProject      // the user's files and the project's, which start and allow something only if the user has trusted them
)

// sources returns the same for package host.
func (l Load) sources() host.Sources {
	switch l {
	case LoadUser:
		return host.UsersFiles
	case LoadProject:
		return host.AllFiles
	}
	return host.NoFiles
}

// host returns the configuration for the wiring.
func (c *Config) host() host.Config {
	h := host.Config{
		Store: c.Store, ID: c.ID, Resume: c.Resume, Fork: c.Fork, Turn: c.Turn,
		Dir: c.Dir, Env: c.Env, EnvCommand: c.EnvCommand, AddDirs: c.AddDirs, Limits: c.Limits, Sandbox: c.Sandbox,
		Sources: c.Load.sources(), TrustProject: c.TrustProject,
		Mode: c.Mode, Asker: c.Ask, AllowTools: c.Allow, DenyTools: c.Deny, Rules: c.Rules,
		Fallbacks: c.Fallbacks, BaseURL: c.BaseURL, Profile: c.Profile, IdleTimeout: c.IdleTimeout, Instructions: c.Instructions,
		Web: c.Web, Servers: c.Servers, LanguageServers: c.LanguageServers,
		Interactive: c.Ask != nil || c.Inbox != nil,
		Secrets:     c.Secrets, Getenv: c.Getenv,
	}
	if provider, model, both := strings.Cut(c.Model, "/"); c.Model != "" {
		h.Provider = &provider
		if both {
			h.Model = &model
		}
	}
	if c.Effort != "" {
		h.Effort = &c.Effort
	}
	if c.Native {
		h.Native = &c.Native
	}
	if c.Inbox != nil && c.Ask == nil {
		h.Asker = c.Inbox.Approve
	}
	return h
}
