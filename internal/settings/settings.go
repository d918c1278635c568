package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
)

// Setting describes what a flag chooses and what files of configuration and a variable of the
// environment can choose, too.
type Setting struct {
	// Key is the name in files. The flag has hyphens instead of underscores.
	Key string
	// Kind says which values there are.
	Kind Kind
	// Project says what a file of the project can do. Why says why, if it can do nothing.
	Project Right
	Why     string
	// Default is what counts where nobody chooses, as the flag takes it. It is empty if that
	// depends on other settings.
	Default string
	// Usage describes the flag. The name of its value is in back quotes.
	Usage string
	// Joins reports that the values of all places count together: items of lists, and limits, of
	// which the highest place has each. Otherwise only the value of the highest place counts.
	Joins bool

	check func(text string) error // of a value, or of each item of a list; nil allows everything
}

// Flag returns the name of the setting's flag.
func (s *Setting) Flag() string { return strings.ReplaceAll(s.Key, "_", "-") }

// IsList reports whether the setting has several items.
func (s *Setting) IsList() bool { return s.Kind == KindList || s.Kind == KindFiles }

// Variable returns the name of the setting's variable.
func (s *Setting) Variable() string { return "ATTRACTOR_" + strings.ToUpper(s.Key) }

// Kind says which values a setting has.
type Kind string

// The kinds of settings, as a person reads them.
const (
	KindText     Kind = "a string"
	KindNumber   Kind = "a whole number from 0 on"
	KindAmount   Kind = "a number from 0 on"
	KindSwitch   Kind = "true or false"
	KindDuration Kind = `a duration such as "90s" or "10m"`
	KindList     Kind = "a list of strings"
	KindFiles    Kind = "a list of paths"
	KindPrompt   Kind = "a string, or @ and a file" // whose text it is
	// KindProviders is kept as the JSON of the object. There is no flag.
	KindProviders Kind = "an object of providers"
)

// Right says what the file of a trusted project can do with a setting.
type Right string

// The rights of projects, as a person reads them.
const (
	RightNone Right = ""
	RightAny  Right = "yes"
	// RightStricter allows values that permit less or end the session earlier than those of the
	// user.
	RightStricter Right = "only stricter"
)

// The reasons why a project cannot choose something.
const (
	sendsAway    = "it decides who gets your conversation and your key"
	costs        = "it decides what a session costs"
	yourFiles    = "it is about your own files and sessions"
	permits      = "only you decide what is permitted"
	ownRulesFile = "the rules of a project are in .attractor/rules.json"
	yourGuards   = "only you decide whether your hooks and servers run"
)

// The defaults of some settings.
const (
	DefaultRounds  = 200
	DefaultOutputs = 16 << 20
	DefaultJournal = 1 << 30
	DefaultDiffs   = 64 << 10
)

// All returns all settings in the order in which they are shown.
func All() []Setting {
	return slices.Clone(all())
}

var all = sync.OnceValue(func() []Setting {
	return slices.Concat(aboutModels(), aboutTools(), aboutPermissions(), aboutLimits())
})

// aboutModels returns the settings that choose the model and what it gets.
func aboutModels() []Setting {
	return []Setting{
		{Key: "provider", Kind: KindText, Why: sendsAway,
			Usage: "choose the provider by `name`, as attractor models --providers lists them (default: the one " +
				"whose API key is set)"},
		{Key: "model", Kind: KindText, Why: costs,
			Usage: "choose the model by `name`, or as provider/name; sonnet, opus, haiku and fable are the newest of " +
				"Anthropic (default: the profile's)"},
		{Key: "effort", Kind: KindText, Project: RightAny,
			Usage: "reason with this `level` of effort, such as low, medium or high (default: the provider's)"},
		{Key: "fallback", Kind: KindList, Why: sendsAway, check: checkFallback,
			Usage: "go on with this `provider/model`, until the next prompt, when calls of the chosen one keep " +
				"failing; can be repeated"},
		{Key: keyProviders, Kind: KindProviders, Why: sendsAway, check: checkProviders},
		{Key: "base_url", Kind: KindText, Why: sendsAway, check: CheckURL,
			Usage: "send requests to this `URL`; for openai and openai-compatible it ends in /v1"},
		{Key: "key_command", Kind: KindText, Why: sendsAway,
			Usage: "run this `command` for the key of the provider, also when the server refuses the key, instead of " +
				"reading a variable"},
		{Key: "context_window", Kind: KindNumber, Why: "it depends on your provider", Default: "0",
			Usage: "the context window of the model in `tokens`, as its server has it; the conversation is compacted " +
				"before it is full; 0 means that of attractor models, or unknown"},
		{Key: "idle_timeout", Kind: KindDuration, Why: "it depends on your provider", Default: "5m0s",
			Usage: "give up when the model is silent for this `duration`"},
		{Key: "profile", Kind: KindText, Why: "it also chooses the model", check: among(profiles.Names()...),
			Usage: "choose the profile, which has the prompt and the tools, by `name`: " + texts.Or(profiles.Names()) +
				" (default: the provider's)"},
		{Key: "native", Kind: KindSwitch, Project: RightAny, Default: "false",
			Usage: "offer the tools of the vendor's own agent, with its names and formats"},
		{Key: "instructions", Kind: KindPrompt, Why: "instructions of a project are in AGENTS.md",
			Usage: "append this `text` to the system prompt; @file reads it from a file"},
	}
}

// aboutTools returns the settings that choose tools, servers and hooks.
func aboutTools() []Setting {
	return []Setting{
		{Key: "web", Kind: KindSwitch, Project: RightStricter, Default: "false",
			Usage: "offer a tool that reads public web pages; each new host is asked about, unless a rule such as " +
				"WebFetch(domain:go.dev) allows it"},
		{Key: "web_search", Kind: KindSwitch, Project: RightStricter, Default: "false",
			Usage: "let the model search the web, which its vendor runs and bills for each search (anthropic, " +
				"openai, gemini)"},
		{Key: "lsp", Kind: KindText, Project: RightAny, Default: "off",
			Usage: "add to the result of each edit what it has broken, as these language `servers` say: auto, off, " +
				"or names such as gopls,pyright"},
		{Key: "mcp", Kind: KindFiles, Why: "the servers of a project are in .mcp.json", Joins: true,
			Usage: "also use the MCP servers in this `file`, which counts as yours; can be repeated (attractor mcp " +
				"--help describes it)"},
		{Key: "no_mcp", Kind: KindSwitch, Why: yourGuards, Default: "false", Usage: "start no MCP servers"},
		{Key: "no_hooks", Kind: KindSwitch, Why: yourGuards, Default: "false", Usage: "run no hooks"},
		{Key: "strict_hooks", Kind: KindSwitch, Project: RightStricter, Default: "false",
			Usage: "let a hook that fails block what it could have prevented"},
	}
}

// aboutPermissions returns the settings that say what tools may do.
func aboutPermissions() []Setting {
	return []Setting{
		{Key: "mode", Kind: KindText, Why: permits, check: checkMode,
			Usage: "decide about tool calls in this `mode`: " + texts.Or(permit.ModeNames()) +
				" (default: ask; a resumed session that was in plan mode stays in it)"},
		{Key: "allow_tool", Kind: KindList, Why: permits, Joins: true,
			Usage: "allow what this `rule` matches, such as Edit or 'Bash(go test:*)'; can be repeated (attractor " +
				"rules --help describes rules)"},
		{Key: "deny_tool", Kind: KindList, Why: ownRulesFile, Joins: true,
			Usage: "deny what this `rule` matches; the model is not offered a tool that the name alone denies, such " +
				"as shell or mcp__github; can be repeated"},
		{Key: "add_dir", Kind: KindFiles, Why: permits, Joins: true,
			Usage: "also let tools read and change files in this `directory`; a resumed session keeps it; can be " +
				"repeated"},
		{Key: "rules", Kind: KindFiles, Why: ownRulesFile, Joins: true,
			Usage: "also use the permission rules in this `file`; can be repeated (attractor rules --help " +
				"describes them)"},
		{Key: "sandbox", Kind: KindText, Project: RightStricter, check: among(sandbox.Levels()...),
			Default: string(sandbox.Off),
			Usage:   "confine commands to this `level`: " + texts.Or(sandbox.Levels())},
		{Key: "unasked", Kind: KindText, Why: permits, check: among(string(sandbox.Off), string(sandbox.Observe)),
			Default: string(sandbox.Off),
			Usage: "run commands that would ask without a question at this `level`: observe, where they can change " +
				"nothing and only what that refuses asks; or off"},
		{Key: "network", Kind: KindSwitch, Why: permits, Default: "false",
			Usage: "let commands in the sandbox use the network"},
		{Key: "allow_host", Kind: KindList, Why: permits,
			Usage: "let commands in the sandbox reach this `host` by HTTP and HTTPS, such as example.com, " +
				"*.example.com or example.com:8443; can be repeated"},
		{Key: "allow_socket", Kind: KindList, Why: permits,
			Usage: "let commands in the sandbox connect to the Unix socket with this `path`; can be repeated"},
		{Key: "limit", Kind: KindText, Project: RightStricter, Joins: true, check: checkLimit,
			Usage: "give each command these `limits`, such as processes=500,memory=2g; also file-size and open-files " +
				"(default: 4096 processes; none lifts a limit)"},
	}
}

// aboutLimits returns the settings that say how long a session goes on, what it costs, and what is
// kept of it.
func aboutLimits() []Setting {
	return []Setting{
		{Key: "max_rounds", Kind: KindNumber, Project: RightStricter, Default: strconv.Itoa(DefaultRounds),
			Usage: "stop after `n` rounds of tool calls; 0 means no limit"},
		{Key: "max_turns", Kind: KindNumber, Project: RightStricter, Default: "0",
			Usage: "stop after `n` responses of the model; 0 means no limit"},
		{Key: "on_limit", Kind: KindText, Project: RightAny, check: among(LimitActionNames()...), Default: "stop",
			Usage: "take this `action` at --max-rounds or --max-turns: stop, or summarize to get a last text from " +
				"the model"},
		{Key: "budget_usd", Kind: KindAmount, Project: RightStricter, Default: "0",
			Usage: "stop before the session and its subagents spend more than this `amount` of US dollars"},
		{Key: "budget_tokens", Kind: KindNumber, Project: RightStricter, Default: "0",
			Usage: "stop before the session and its subagents use more than `n` tokens"},
		{Key: "cache_lifetime", Kind: KindText, Why: costs, check: among(CacheLifetimes()...), Default: CacheAuto,
			Usage: "ask the provider to keep the prompt in its cache for this `time`, where there is a choice: " +
				texts.Or(CacheLifetimes()) + "; auto is an hour where that is cheaper"},
		{Key: "keep_cache", Kind: KindSwitch, Why: costs, Default: "false",
			Usage: "while a command, an agent or a person is waited for, ask the model for one token before its " +
				"cache forgets the prompt, as long as that is cheaper than sending all anew"},
		{Key: "no_journal", Kind: KindSwitch, Why: yourFiles, Default: "false",
			Usage: "do not keep the session"},
		{Key: "no_checkpoints", Kind: KindSwitch, Why: yourFiles, Default: "false",
			Usage: "do not record what is changed: attractor undo cannot take it back"},
		{Key: "keep_outputs", Kind: KindNumber, Why: yourFiles, Default: strconv.Itoa(DefaultOutputs),
			Usage: "keep the whole text of long outputs with the session, up to this many `bytes`, to look at and " +
				"for --resume and --fork; 0 keeps none"},
		{Key: "max_journal", Kind: KindNumber, Why: yourFiles, check: checkPositive,
			Default: strconv.Itoa(DefaultJournal),
			Usage:   "end the session before its journal has more than this many `bytes`"},
		{Key: "diffs", Kind: KindNumber, Why: yourFiles, Default: strconv.Itoa(DefaultDiffs),
			Usage: "record unified diffs of what a call changes, up to this many `bytes` per call; --json prints " +
				"them; 0 records none"},
	}
}

// onlyFlags returns, by names that are no settings, what to do instead.
func onlyFlags() map[string]string {
	instead := map[string]string{"yes": `write "mode": "full"`, "ask": `write "mode": "ask"`,
		"trust_project":   "it can only be a flag, because with it any project that you open could start programs",
		"api_key":         "keys are in variables of the environment, such as ANTHROPIC_API_KEY",
		"model_providers": `write "providers"`,
		"hooks":           "hooks have files of their own: hooks.json beside this file (attractor hooks --help)",
		"mcp_servers": "servers have files of their own: mcp.json beside this file, or .mcp.json in a project " +
			"(attractor mcp --help)",
		"permissions": "rules have files of their own (attractor rules --help)"}
	for _, name := range []string{"read_only", "image", "debug", "dir", "worktree", "env_command", "resume", "fork",
		"continue", "json", "timeout", "output_schema", "output", "result", "check", "check_rounds", "check_timeout",
		"view", "input", "answer_timeout", "mcp_wait"} {
		instead[name] = "it can only be a flag"
	}
	return instead
}

// Place says where a value comes from. A higher place takes precedence over a lower one.
type Place uint8

// The places, from the lowest on.
const (
	PlaceDefault Place = iota
	PlaceOther         // the user's settings of another agent; see [ReadOthers]
	PlaceUser
	PlaceProject
	PlaceEnvironment
	PlaceFlag
)

// String returns the name of the place in JSON.
func (p Place) String() string {
	return [...]string{"default", "other", "user", "project", "environment", "flag"}[p]
}

// MarshalText implements [encoding.TextMarshaler].
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Origin says where a value comes from.
type Origin struct {
	Place Place
	Name  string // of the flag, the variable or the file
	Line  int    // in the file
}

// String returns the origin as a person needs it to change the value.
func (o Origin) String() string {
	switch {
	case o.Place == PlaceDefault:
		return "default"
	case o.Line > 0:
		return fmt.Sprintf("%s, line %d", o.Name, o.Line)
	}
	return o.Name
}

// Value is a value of a setting.
type Value struct {
	Key string
	// Text holds the value as a flag takes it: one text, or the items of a list.
	Text   []string
	Origin Origin
	// Unused says why the value has no effect. It is empty if it has.
	Unused string

	file string // of another agent's settings; empty at other places
}

// Joins reports whether the values of all places count together.
func (v *Value) Joins() bool {
	s, err := find(v.Key)
	return err == nil && s.Joins
}

// One returns the value of a setting that is no list, or "" of nil.
func (v *Value) One() string {
	if v == nil {
		return ""
	}
	return strings.Join(v.Text, ",")
}
