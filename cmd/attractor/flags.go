package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/llm/providers"
)

// startFlags holds the flags of commands that start one session: where it works, and which one it continues.
type startFlags struct {
	dir, resume, fork string
	last              bool
}

// register adds the flags.
func (f *startFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", "", "work in this `directory` (default: the current one, or that of the resumed session)")
	flags.StringVar(&f.resume, "resume", "", "continue the session with this `id`; without a prompt, continue its interrupted input")
	flags.BoolVar(&f.last, "continue", false, "continue the newest session of the directory; without a prompt, its interrupted input")
	flags.StringVar(&f.fork, "fork", "", "start a new session from this one, `id[@turn]`, as it was after that turn")
}

// config adds what the flags choose to a configuration.
func (f *startFlags) config(c *host.Config) (err error) {
	c.Dir, c.Resume, c.Continue = f.dir, f.resume, f.last
	if f.fork != "" {
		c.Fork, c.Turn, err = forkPoint(f.fork)
	}
	return err
}

// check returns an error if the flags contradict each other.
func (f *startFlags) check(noJournal bool) error {
	switch {
	case f.resume != "" && f.fork != "" || f.last && (f.resume != "" || f.fork != ""):
		return fail(exitUsage, "--resume, --continue and --fork cannot be used together")
	case noJournal && f.resumes():
		return fail(exitUsage, "--resume, --continue and --fork cannot be used with --no-journal")
	}
	return nil
}

// resumes reports whether the session is an earlier one, or a fork of one.
func (f *startFlags) resumes() bool { return f.resume != "" || f.fork != "" || f.last }

// sessionFlags holds the flags that every command which runs sessions has: for the provider, the model, permissions and limits.
type sessionFlags struct {
	provider, model, profile, baseURL, effort, instructions, onLimit string
	maxRounds, maxTurns, budgetTokens, diffs                         int
	maxJournal, keepOutputs                                          int64
	budgetUSD                                                        float64
	lsp                                                              string
	fallbacks, rules, mcp                                            []string
	yes, ask, readOnly, noJournal, native, trustProject, web         bool
	noMCP, noHooks, strictHooks, debug                               bool
	idleTimeout                                                      time.Duration
	limits                                                           limitsFlag
	sandbox                                                          sandboxFlags
}

// register adds the flags.
func (f *sessionFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.provider, "provider", "", "choose the provider by `name`: "+orList(providers.Names())+" (default: the one whose API key is set)")
	flags.StringVar(&f.model, "model", "", "choose the model by `name` (default: the profile's)")
	flags.StringArrayVar(&f.fallbacks, "fallback", nil, "go on with this `provider/model`, until the next prompt, when calls of the chosen one keep failing; can be repeated")
	flags.StringVar(&f.profile, "profile", "", "choose the profile, which has the prompt and the tools, by `name`: "+orList(host.ProfileNames())+" (default: the provider's)")
	flags.BoolVar(&f.native, "native", false, "offer the tools of the vendor's own agent, with its names and formats")
	flags.BoolVar(&f.web, "web", false, "offer a tool that reads public web pages; each new host is asked about, unless a rule such as WebFetch(domain:go.dev) allows it")
	flags.StringVar(&f.baseURL, "base-url", "", "send requests to this `URL`; for openai and openai-compatible it ends in /v1")
	flags.StringVar(&f.effort, "effort", "", "reason with this `level` of effort, such as low, medium or high (default: the provider's)")
	flags.StringVar(&f.instructions, "instructions", "", "append this `text` to the system prompt; @file reads it from a file")
	flags.IntVar(&f.maxRounds, "max-rounds", 200, "stop after `n` rounds of tool calls; 0 means no limit")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "stop after `n` responses of the model; 0 means no limit")
	flags.StringVar(&f.onLimit, "on-limit", "stop", "take this `action` at --max-rounds or --max-turns: stop, or summarize to get a last text from the model")
	flags.Float64Var(&f.budgetUSD, "budget-usd", 0, "stop before the session and its subagents spend more than this `amount` of US dollars")
	flags.IntVar(&f.budgetTokens, "budget-tokens", 0, "stop before the session and its subagents use more than `n` tokens")
	flags.BoolVar(&f.noJournal, "no-journal", false, "do not keep the session")
	flags.Int64Var(&f.keepOutputs, "keep-outputs", 0, "keep whole command outputs with the session, up to this many `bytes`, for --resume and --fork")
	flags.Int64Var(&f.maxJournal, "max-journal", 1<<30, "end the session before its journal has more than this many `bytes`")
	flags.IntVar(&f.diffs, "diffs", 0, "record unified diffs of what a call changes, up to this many `bytes` per call; --json prints them")
	flags.BoolVar(&f.yes, "yes", false, "answer every question about a tool call with yes")
	flags.BoolVar(&f.ask, "ask", false, "ask on the terminal about tool calls that no rule decides; this is the default")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse tool calls that change or run anything, or that the rules ask about")
	flags.StringArrayVar(&f.rules, "rules", nil, "also use the permission rules in this `file`; can be repeated (attractor rules --help describes them)")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "also use the MCP servers in this `file`, which counts as yours; can be repeated (attractor mcp --help describes it)")
	flags.BoolVar(&f.noMCP, "no-mcp", false, "start no MCP servers")
	flags.StringVar(&f.lsp, "lsp", host.NoLanguageServers, "add to the result of each edit what it has broken, as these language `servers` say: auto, off, or names such as gopls,pyright")
	flags.BoolVar(&f.noHooks, "no-hooks", false, "run no hooks")
	flags.BoolVar(&f.strictHooks, "strict-hooks", false, "let a hook that fails block what it could have prevented")
	flags.BoolVar(&f.debug, "debug", false, "tell of each run of a hook on standard error")
	flags.BoolVar(&f.trustProject, "trust-project", false, "trust what the project's files start and allow, this time only; for machines, where nobody can run attractor trust")
	f.limits.register(flags)
	f.sandbox.register(flags)
	flags.DurationVar(&f.idleTimeout, "idle-timeout", 300*time.Second, "give up when the model is silent for this `duration`")
}
