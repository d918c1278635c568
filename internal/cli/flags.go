package cli

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/worktree"
)

// startFlags holds the flags of commands that start one session: where it works, and which one it
// continues.
type startFlags struct {
	dir, resume, fork, worktree string
	last                        bool
	images                      []string
}

// register adds the flags.
func (f *startFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", "",
		"work in this `directory` (default: the current one, or that of the resumed session)")
	flags.StringVar(&f.worktree, "worktree", "",
		"work in a git worktree and a branch of its own, attractor/`name`, which go at the end if nothing would be lost; without a name one is made up")
	flags.Lookup("worktree").NoOptDefVal = anyWorktree
	flags.StringVar(&f.resume, "resume", "",
		"continue the session with this `id`; without a prompt, continue its interrupted input")
	flags.BoolVar(&f.last, "continue", false,
		"continue the newest session of the directory; without a prompt, its interrupted input")
	flags.StringArrayVar(&f.images, "image", nil,
		"add the image in this `file` to the first prompt: PNG, JPEG, GIF or WebP, at most 32 MiB; can be repeated")
	flags.StringVar(&f.fork, "fork", "", "start a new session from this one, `id[@turn]`, as it was after that turn")
}

// anyWorktree is the value of --worktree without a name. No worktree can have it as its name.
const anyWorktree = "*"

// config adds what the flags choose to a configuration.
func (f *startFlags) config(c *attractor.Config) (err error) {
	c.Dir, c.Resume, c.Continue = f.dir, f.resume, f.last
	if c.Worktree = f.worktree; f.worktree == anyWorktree {
		c.Worktree = strings.ToLower(rand.Text()[:8])
	}
	if f.fork != "" {
		c.Fork, c.Turn, err = forkPoint(f.fork)
	}
	return err
}

// checkIDs returns an error for a flag that names no session, perhaps by a variable that is not
// set: a new session is not what its user wants.
func (f *startFlags) checkIDs(given func(flag string) bool) error {
	if given("worktree") && f.worktree == "" {
		return fail(exitUsage, "--worktree= needs a name; without the equals sign one is made up")
	}
	for _, id := range []struct{ flag, value string }{{"resume", f.resume}, {"fork", f.fork}} {
		if given(id.flag) && id.value == "" {
			return fail(exitUsage, "--%s needs the id of a session; to list sessions, run: attractor sessions list",
				id.flag)
		}
	}
	return nil
}

// checkPrompt returns an error if the first word of a prompt may have been meant as a worktree's
// name.
func (f *startFlags) checkPrompt(words []string) error {
	if f.worktree != anyWorktree || len(words) < 2 || worktree.Check(words[0]) != nil || words[1] == "-" {
		return nil
	}
	return fail(exitUsage, "with --worktree the prompt is one argument, in quotes; a name stands after an equals sign: --worktree=%s",
		words[0])
}

// check returns an error if the flags contradict each other.
func (f *startFlags) check(noJournal bool) error {
	switch {
	case f.resume != "" && f.fork != "" || f.last && (f.resume != "" || f.fork != ""):
		return fail(exitUsage, "--resume, --continue and --fork cannot be used together")
	case f.worktree != "" && (f.resume != "" || f.last):
		return fail(exitUsage, "--worktree cannot be used with --resume and --continue: the session goes on in its own directory")
	case noJournal && f.resumes():
		return fail(exitUsage, "--resume, --continue and --fork cannot be used with --no-journal")
	}
	return nil
}

// pictures reads the images for the first prompt.
func (f *startFlags) pictures() (parts []llm.Part, err error) {
	for _, name := range f.images {
		image, err := protocol.ReadImage(name)
		if err != nil {
			return nil, hostError(err)
		}
		parts = append(parts, image)
	}
	return parts, nil
}

// resumes reports whether the session is an earlier one, or a fork of one.
func (f *startFlags) resumes() bool { return f.resume != "" || f.fork != "" || f.last }

// sessionFlags holds the flags that every command which runs sessions has: for the provider, the
// model, permissions and limits.
type sessionFlags struct {
	provider, model, profile, baseURL, effort, instructions, onLimit, cacheLifetime, keyCommand string
	maxRounds, maxTurns, budgetTokens, diffs, contextWindow                                     int
	maxJournal, keepOutputs                                                                     int64
	budgetUSD                                                                                   float64
	lsp                                                                                         string
	mode, unasked, debug, envCommand                                                            string
	fallbacks, rules, mcp, addDirs, allowTools, denyTools                                       []string
	yes, ask, readOnly, noJournal, native, trustProject, web, webSearch, keepCache              bool
	noCheckpoints                                                                               bool
	noMCP, noHooks, strictHooks                                                                 bool
	idleTimeout                                                                                 time.Duration
	limits                                                                                      limitsFlag
	sandbox                                                                                     sandboxFlags
	checks                                                                                      attractor.Checks
	// of the user; nil before readSettings
	settings *settings.Values
}

// register adds the flags.
func (f *sessionFlags) register(flags *pflag.FlagSet) {
	f.registerModel(flags)
	f.registerLimits(flags)
	f.registerTools(flags)
	f.registerChecks(flags)
	f.limits.register(flags)
	f.sandbox.register(flags)
}

// registerModel adds the flags that choose the model and what it is sent.
func (f *sessionFlags) registerModel(flags *pflag.FlagSet) {
	flags.StringVar(&f.provider, "provider", "",
		"choose the provider by `name`, as attractor models --providers lists them (default: the one whose API key is set)")
	flags.StringVar(&f.model, "model", "",
		"choose the model by `name`, or as provider/name; sonnet, opus, haiku and fable are the newest of Anthropic (default: the profile's)")
	flags.StringArrayVar(&f.fallbacks, "fallback", nil,
		"go on with this `provider/model`, until the next prompt, when calls of the chosen one keep failing; can be repeated")
	flags.StringVar(&f.profile, "profile", "", "choose the profile, which has the prompt and the tools, by `name`: "+
		orList(profiles.Names())+" (default: the provider's)")
	flags.BoolVar(&f.native, "native", false, "offer the tools of the vendor's own agent, with its names and formats")
	flags.BoolVar(&f.web, "web", false,
		"offer a tool that reads public web pages; each new host is asked about, unless a rule such as WebFetch(domain:go.dev) allows it")
	flags.BoolVar(&f.webSearch, "web-search", false,
		"let the model search the web, which its vendor runs and bills for each search (anthropic, openai, gemini)")
	flags.StringVar(&f.baseURL, "base-url", "",
		"send requests to this `URL`; for openai and openai-compatible it ends in /v1")
	flags.StringVar(&f.keyCommand, "key-command", "",
		"run this `command` for the key of the provider, also when the server refuses the key, instead of reading a variable")
	flags.StringVar(&f.effort, "effort", "",
		"reason with this `level` of effort, such as low, medium or high (default: the provider's)")
	flags.StringVar(&f.instructions, "instructions", "",
		"append this `text` to the system prompt; @file reads it from a file")
	flags.IntVar(&f.contextWindow, "context-window", 0,
		"the context window of the model in `tokens`, as its server has it; the conversation is compacted before it is full; 0 means that of attractor models, or unknown")
	flags.DurationVar(&f.idleTimeout, "idle-timeout", 300*time.Second,
		"give up when the model is silent for this `duration`")
	flags.StringVar(&f.cacheLifetime, "cache-lifetime", settings.CacheAuto,
		"ask the provider to keep the prompt in its cache for this `time`, where there is a choice: "+
			orList(settings.CacheLifetimes())+"; auto is an hour where that is cheaper")
	flags.BoolVar(&f.keepCache, "keep-cache", false,
		"while a command, an agent or a person is waited for, ask the model for one token before its cache forgets the prompt, as long as that is cheaper than sending all anew")
}

// registerLimits adds the flags that limit the session, and those about what is kept of it.
func (f *sessionFlags) registerLimits(flags *pflag.FlagSet) {
	flags.IntVar(&f.maxRounds, "max-rounds", settings.DefaultRounds,
		"stop after `n` rounds of tool calls; 0 means no limit")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "stop after `n` responses of the model; 0 means no limit")
	flags.StringVar(&f.onLimit, "on-limit", "stop",
		"take this `action` at --max-rounds or --max-turns: stop, or summarize to get a last text from the model")
	flags.Float64Var(&f.budgetUSD, "budget-usd", 0,
		"stop before the session and its subagents spend more than this `amount` of US dollars")
	flags.IntVar(&f.budgetTokens, "budget-tokens", 0,
		"stop before the session and its subagents use more than `n` tokens")
	flags.BoolVar(&f.noJournal, "no-journal", false, "do not keep the session")
	flags.BoolVar(&f.noCheckpoints, "no-checkpoints", false,
		"do not record what is changed: attractor undo cannot take it back")
	flags.Int64Var(&f.keepOutputs, "keep-outputs", attractor.DefaultLimits().KeepOutputs,
		"keep the whole text of long outputs with the session, up to this many `bytes`, to look at and for --resume and --fork; 0 keeps none")
	flags.Int64Var(&f.maxJournal, "max-journal", attractor.DefaultLimits().MaxJournal,
		"end the session before its journal has more than this many `bytes`")
	flags.IntVar(&f.diffs, "diffs", attractor.DefaultLimits().Diffs,
		"record unified diffs of what a call changes, up to this many `bytes` per call; --json prints them; 0 records none")
}

// registerTools adds the flags about where the tools work, which calls run, and what else starts.
func (f *sessionFlags) registerTools(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "mode", "", "decide about tool calls in this `mode`: "+orList(permit.ModeNames())+
		" (default: ask; a resumed session that was in plan mode stays in it)")
	flags.BoolVar(&f.yes, "yes", false, "answer every question about a tool call with yes, like --mode full")
	flags.BoolVar(&f.ask, "ask", false, "ask about tool calls that no rule decides, like --mode ask")
	flags.BoolVar(&f.readOnly, "read-only", false,
		"refuse tool calls that change or run anything, or that the rules ask about, as long as the session runs")
	flags.StringArrayVar(&f.allowTools, "allow-tool", nil,
		"allow what this `rule` matches, such as Edit or 'Bash(go test:*)'; can be repeated (attractor rules --help describes rules)")
	flags.StringArrayVar(&f.denyTools, "deny-tool", nil,
		"deny what this `rule` matches; the model is not offered a tool that the name alone denies, such as shell or mcp__github; can be repeated")
	flags.StringArrayVar(&f.addDirs, "add-dir", nil,
		"also let tools read and change files in this `directory`; a resumed session keeps it; can be repeated")
	flags.StringVar(&f.envCommand, "env-command", "",
		"work where this `command` leads, such as 'docker exec -i box' or 'ssh host'; --dir and --add-dir are directories there; a resumed session keeps it; '' means this machine")
	flags.StringArrayVar(&f.rules, "rules", nil,
		"also use the permission rules in this `file`; can be repeated (attractor rules --help describes them)")
	flags.StringArrayVar(&f.mcp, "mcp", nil,
		"also use the MCP servers in this `file`, which counts as yours; can be repeated (attractor mcp --help describes it)")
	flags.BoolVar(&f.noMCP, "no-mcp", false, "start no MCP servers")
	flags.StringVar(&f.lsp, "lsp", attractor.NoLanguageServers,
		"add to the result of each edit what it has broken, as these language `servers` say: auto, off, or names such as gopls,pyright")
	flags.BoolVar(&f.noHooks, "no-hooks", false, "run no hooks")
	flags.BoolVar(&f.strictHooks, "strict-hooks", false, "let a hook that fails block what it could have prevented")
	flags.StringVar(&f.debug, "debug", "", debugHelp)
	flags.BoolVar(&f.trustProject, "trust-project", false,
		"trust what the project's files start and allow, this time only; for machines, where nobody can run attractor trust")
	flags.StringVar(&f.unasked, "unasked", string(sandbox.Off),
		"run commands that would ask without a question at this `level`: observe, where they can change nothing and only what that refuses asks; or off")
}

// chosenMode returns the mode that the flags choose, or "".
func (f *sessionFlags) chosenMode() permit.Mode {
	switch {
	case f.yes:
		return permit.ModeFull
	case f.ask:
		return permit.ModeAsk
	case f.readOnly:
		return permit.ModeReadOnly
	}
	return permit.Mode(f.mode)
}

// checkMode returns an error if several flags choose a mode, or if there is no such mode.
func (f *sessionFlags) checkMode() error {
	chosen := 0
	for _, is := range []bool{f.yes, f.ask, f.readOnly, f.mode != ""} {
		if is {
			chosen++
		}
	}
	if chosen > 1 {
		return fail(exitUsage, "--mode, --yes, --ask and --read-only cannot be used together")
	}
	if f.mode == "" {
		return nil
	}
	if _, err := permit.ParseMode(f.mode); err != nil {
		return fail(exitUsage, "--mode: %w", err)
	}
	return nil
}
