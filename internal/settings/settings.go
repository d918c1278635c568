package settings

import (
	"fmt"
	"strings"
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
	// Joins reports that the values of all places count together: items of lists, and limits, of
	// which the highest place has each. Otherwise only the value of the highest place counts.
	Joins bool

	check func(text string) error // of a value, or of each item of a list; nil allows everything
}

// Flag returns the name of the setting's flag.
func (s *Setting) Flag() string { return strings.ReplaceAll(s.Key, "_", "-") }

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

// All returns all settings in the order in which they are shown.
func All() []Setting {
	return []Setting{
		{Key: "provider", Kind: KindText, Why: sendsAway},
		{Key: "model", Kind: KindText, Why: costs},
		{Key: "effort", Kind: KindText, Project: RightAny},
		{Key: "fallback", Kind: KindList, Why: sendsAway, check: checkFallback},
		{Key: keyProviders, Kind: KindProviders, Why: sendsAway, check: checkProviders},
		{Key: "base_url", Kind: KindText, Why: sendsAway, check: CheckURL},
		{Key: "key_command", Kind: KindText, Why: sendsAway},
		{Key: "context_window", Kind: KindNumber, Why: "it depends on your provider"},
		{Key: "idle_timeout", Kind: KindDuration, Why: "it depends on your provider"},
		{Key: "profile", Kind: KindText, Why: "it also chooses the model", check: checkProfile},
		{Key: "native", Kind: KindSwitch, Project: RightAny},
		{Key: "instructions", Kind: KindPrompt, Why: "instructions of a project are in AGENTS.md"},
		{Key: "web", Kind: KindSwitch, Project: RightStricter},
		{Key: "web_search", Kind: KindSwitch, Project: RightStricter},
		{Key: "lsp", Kind: KindText, Project: RightAny},
		{Key: "mcp", Kind: KindFiles, Why: "the servers of a project are in .mcp.json", Joins: true},
		{Key: "no_mcp", Kind: KindSwitch, Why: yourGuards},
		{Key: "no_hooks", Kind: KindSwitch, Why: yourGuards},
		{Key: "strict_hooks", Kind: KindSwitch, Project: RightStricter},
		{Key: "mode", Kind: KindText, Why: permits, check: checkMode},
		{Key: "allow_tool", Kind: KindList, Why: permits, Joins: true},
		{Key: "deny_tool", Kind: KindList, Why: ownRulesFile, Joins: true},
		{Key: "add_dir", Kind: KindFiles, Why: permits, Joins: true},
		{Key: "rules", Kind: KindFiles, Why: ownRulesFile, Joins: true},
		{Key: "sandbox", Kind: KindText, Project: RightStricter, check: checkLevel},
		{Key: "unasked", Kind: KindText, Why: permits, check: checkUnasked},
		{Key: "network", Kind: KindSwitch, Why: permits},
		{Key: "allow_host", Kind: KindList, Why: permits},
		{Key: "allow_socket", Kind: KindList, Why: permits},
		{Key: "limit", Kind: KindText, Project: RightStricter, Joins: true, check: checkLimit},
		{Key: "max_rounds", Kind: KindNumber, Project: RightStricter},
		{Key: "max_turns", Kind: KindNumber, Project: RightStricter},
		{Key: "on_limit", Kind: KindText, Project: RightAny, check: checkOnLimit},
		{Key: "budget_usd", Kind: KindAmount, Project: RightStricter},
		{Key: "budget_tokens", Kind: KindNumber, Project: RightStricter},
		{Key: "cache_lifetime", Kind: KindText, Why: costs, check: checkCacheLifetime},
		{Key: "keep_cache", Kind: KindSwitch, Why: costs},
		{Key: "no_journal", Kind: KindSwitch, Why: yourFiles},
		{Key: "no_checkpoints", Kind: KindSwitch, Why: yourFiles},
		{Key: "keep_outputs", Kind: KindNumber, Why: yourFiles},
		{Key: "max_journal", Kind: KindNumber, Why: yourFiles, check: checkPositive},
		{Key: "diffs", Kind: KindNumber, Why: yourFiles},
	}
}

// onlyFlags returns, by names that are no settings, what to do instead.
func onlyFlags() map[string]string {
	const flagOnly = "it can only be a flag"
	return map[string]string{"yes": `write "mode": "full"`, "ask": `write "mode": "ask"`, "read_only": flagOnly,
		"image": flagOnly, "debug": flagOnly, "dir": flagOnly, "worktree": flagOnly, "env_command": flagOnly,
		"resume":   flagOnly,
		"fork":     flagOnly,
		"continue": flagOnly, "json": flagOnly, "timeout": flagOnly, "output_schema": flagOnly, "output": flagOnly, "result": flagOnly, "check": flagOnly,
		"check_rounds":  flagOnly,
		"check_timeout": flagOnly, "view": flagOnly, "input": flagOnly, "answer_timeout": flagOnly,
		"mcp_wait":        flagOnly,
		"trust_project":   flagOnly + ", because with it any project that you open could start programs",
		"api_key":         "keys are in variables of the environment, such as ANTHROPIC_API_KEY",
		"model_providers": "write \"providers\"",
		"hooks":           "hooks have files of their own: hooks.json beside this file (attractor hooks --help)",
		"mcp_servers":     "servers have files of their own: mcp.json beside this file, or .mcp.json in a project (attractor mcp --help)",
		"permissions":     "rules have files of their own (attractor rules --help)"}
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
