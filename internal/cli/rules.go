package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// The exit codes of rules check for a single call.
const (
	exitAsk  = 10
	exitDeny = 20
)

func newRules(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Check permission rules, and change those that were kept",
		Long: `Rules say which tool calls of the model are allowed, denied, or asked about.

They are in JSON files, in the form of Claude Code's settings:

  {"permissions": {
    "allow": ["Bash(go test:*)", "Edit(./docs/**)", "WebFetch(domain:go.dev)", "mcp__github__list_issues"],
    "ask":   ["Bash(git push *)"],
    "deny":  [{"rule": "Read(./secrets/**)", "reason": "ask the owner", "match": ["secrets/key"]}]
  }}

A deny rule wins over an ask rule, and an ask rule over an allow rule. Without a rule, reading in the directory is allowed and all else asks.
These files count:

  files of --rules
  $XDG_STATE_HOME/attractor/rules.json (or ~/.local/state/attractor/rules.json), where the answers p and g to a question go;
    those of one project are below "projects": {"/its/path": {"permissions": {...}}}
  ~/.claude/settings.json
  .attractor/rules.json, .claude/settings.json and .claude/settings.local.json of the project; their allow rules count once it is trusted`,
	}
	cmd.AddCommand(newRulesCheck(t), newRulesList(t), newRulesAdd(t), newRulesRemove(t))
	return cmd
}

// rulesFlags holds the flags of rules check.
type rulesFlags struct {
	settingFlags
	dir          string
	json         bool
	trustProject bool
}

func newRulesCheck(t terminal) *cobra.Command {
	f := new(rulesFlags)
	cmd := &cobra.Command{
		Use:   "check <command>",
		Short: "Say what the rules decide about a command",
		Long: `Check says whether a command would be allowed, denied or asked about, and by which rule. It does not run the command.

If the command is -, check reads calls from standard input, one JSON object per line, such as {"tool": "Bash", "command": "git push"},
{"tool": "Edit", "path": "go.mod"} or {"tool": "WebFetch", "host": "go.dev"}. It answers each with one line: {"decision", "rule", "reason"}.

Exit codes:
  0   the call is allowed, or there were several
  10  it is asked about
  20  it is denied
  2   a file of rules or the command line has mistakes, which are all told`,
		Example: `  attractor rules check "go test ./... && git push"
  echo '{"tool": "Read", "path": ".env"}' | attractor rules check -`,
		Args: takes(argument{"command", "quote it as one argument, or pass - to read calls from standard input"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.check(cmd.Context(), t, args[0])
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", ".", "decide as in this `directory`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a line of JSON")
	cmd.Flags().BoolVar(&f.trustProject, "trust-project", false, "decide as if the project were trusted")
	f.register(cmd.Flags(), "rules")
	f.readFirst(cmd)
	return cmd
}

// check loads the rules and decides about one command or about the calls on standard input.
func (f *rulesFlags) check(ctx context.Context, t terminal, command string) (err error) {
	local, err := env.NewLocal(f.dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return fail(exitUsage, "cannot work in %s: %w", f.dir, err)
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	project, err := load.ReadProject(local.WorkDir(), os.Getenv, f.trustProject)
	if err != nil {
		return hostError(err)
	}
	set, err := load.ReadRules(local, project, f.settings.List("rules"), os.Getenv)
	if err != nil {
		return hostError(err)
	}
	tellIgnored(t, set)
	if line := project.UnusedRules(f.dir, os.Getenv); line != "" {
		warn(t.err, render.OneLine(line))
	}
	c := checker{t, set, env.Protect(local, env.DefaultProtection()), f.json || command == "-"}
	if command == "-" {
		return c.lines(ctx, t.in)
	}
	return c.exit(c.decide(ctx, rules.Query{Command: command}))
}

// tellIgnored warns about rules that have no effect.
func tellIgnored(t terminal, set *rules.Set) {
	for _, w := range set.Warnings() {
		warn(t.err, render.OneLine(w))
	}
}

// checker decides about calls and prints the decisions.
type checker struct {
	terminal
	set  *rules.Set
	env  env.Environment
	json bool
}

// exit returns the error with the exit code for the decision about a single call.
func (c *checker) exit(v tool.Verdict, err error) error {
	switch {
	case err != nil:
		return err
	case v == tool.Ask:
		return &exitError{code: exitAsk}
	case v == tool.Deny:
		return &exitError{code: exitDeny}
	}
	return nil
}

// maxLine limits a line of standard input.
const maxLine = 1 << 20

// lines decides about the calls in lines of JSON.
func (c *checker) lines(ctx context.Context, in io.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	n, calls, verdict := 0, 0, tool.Allow
	for scanner.Scan() {
		n++
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		var q rules.Query
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		err := dec.Decode(&q)
		if err == nil && dec.More() {
			err = errors.New("there is more than one value")
		}
		if err == nil {
			calls++
			verdict, err = c.decide(ctx, q)
		}
		if err != nil {
			return fail(exitUsage, `line %d of standard input: %w; a line is an object with tool and one of command, path and host, such as {"tool": "Bash", "command": "git push"}`, n, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fail(exitUsage, "line %d of standard input: %w", n+1, err)
	}
	if calls == 1 {
		return c.exit(verdict, nil)
	}
	return nil
}

// decide decides about one call and prints the decision.
func (c *checker) decide(ctx context.Context, q rules.Query) (tool.Verdict, error) {
	req, err := q.Request()
	if err != nil {
		return tool.Deny, err
	}
	d := c.set.Decide(ctx, c.env, req)
	if c.json {
		return d.Verdict, writeLine(inForm(c.out, sanitize.JSON), struct {
			Decision string `json:"decision"`
			Rule     string `json:"rule"`
			Reason   string `json:"reason"`
		}{d.Verdict.String(), d.Rule, d.Reason})
	}
	text := d.Verdict.String()
	if d.Rule != "" {
		text += ": " + d.Rule
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	_, err = fmt.Fprintln(c.out, render.OneLine(text))
	return d.Verdict, err
}
