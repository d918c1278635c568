package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/internal/texts"
)

// otherFlags returns, by the names of flags of claude -p and codex exec that do not exist here,
// what takes their place.
func otherFlags() map[string]string {
	sandboxes := "--yes --sandbox read-only, --yes --sandbox workspace, or --yes"
	return map[string]string{
		"p": "attractor run", "print": "attractor run",
		"output-format": "--json", "verbose": "--json", "include-partial-messages": "--json",
		"input-format": "--input json",
		"allowedTools": "--allow-tool", "allowed-tools": "--allow-tool", "disallowedTools": "--deny-tool",
		"disallowed-tools": "--deny-tool",
		"permission-mode":  "--mode", "permission-prompt-tool": "--input json", "dangerously-skip-permissions": "--yes",
		"c": "--continue, or a flag of the setting", "r": "--resume", "fork-session": "--fork",
		"no-session-persistence": "--no-journal",
		"append-system-prompt":   "--instructions", "fallback-model": "--fallback", "max-budget-usd": "--budget-usd",
		"json-schema": "--output-schema",
		"mcp-config":  "--mcp", "settings": "--rules", "debug-file": "--debug",
		"m": "--model", "C": "--dir", "cd": "--dir", "i": "--image", "s": sandboxes,
		"full-auto": "--yes --sandbox workspace", "dangerously-bypass-approvals-and-sandbox": "--yes", "a": "--mode",
		"ask-for-approval": "--mode",
		"ephemeral":        "--no-journal", "trust": "--trust-project",
		"dangerously-bypass-hook-trust": "--trust-project",
		"oss":                           "--provider",
		"o":                             "--output", "output-last-message": "--output",
		"yolo": "--yes", "y": "--yes", "approval-mode": "--mode", "last": "--continue",
	}
}

// otherCommand returns what takes the place here of a command of claude, codex or opencode that does
// not exist, or "".
func otherCommand(parent *cobra.Command, name string) string {
	switch parent.CommandPath() + " " + name {
	case "attractor exec":
		return "attractor run"
	case "attractor resume":
		return "attractor chat --resume"
	case "attractor login", "attractor auth":
		return "a key in a variable, such as ANTHROPIC_API_KEY (attractor models --providers)"
	case "attractor update", "attractor upgrade":
		return "installing it again (docs/install.md)"
	case "attractor skills":
		return "attractor commands"
	case "attractor init":
		return "/init in attractor chat"
	case "attractor mcp add", "attractor mcp remove":
		return "a file (attractor mcp --help)"
	}
	return ""
}

// lackingFlags returns, by the names of flags of claude -p that have nothing in their place here,
// what helps instead.
func lackingFlags() map[string]string {
	return map[string]string{
		"tools":         "--deny-tool NAME takes a tool away",
		"session-id":    "the first event of attractor run --json has the id",
		"system-prompt": "--instructions adds to it",
		"agent":         "agents are files: attractor agents", "agents": "agents are files: attractor agents",
		"skip-git-repo-check": "sessions work in any directory",
		"strict-mcp-config":   "--no-mcp starts no servers",
		"setting-sources":     "what a project brings counts only once it is trusted: attractor trust",
	}
}

// unknownFlagError adds to the error about an unknown flag what takes its place here, if it is one
// of another program, or else the flags that it resembles.
func unknownFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if other := otherFlagError(cmd, name, err); other != err {
		return other
	}
	var known, near []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	for _, flag := range texts.Near(name, known) {
		near = append(near, "--"+flag)
	}
	if len(near) == 0 {
		return err
	}
	return fmt.Errorf("%w; do you mean %s?", err, texts.Or(near))
}

// otherFlagError adds to the error about an unknown flag what takes its place here, if it is one of
// another program. That is done in commands that run sessions, and for attractor without a command,
// which names those that have the flag.
func otherFlagError(cmd *cobra.Command, name string, err error) error {
	where := ""
	if cmd.CommandPath() == "attractor" {
		where = " of attractor run and attractor chat"
		chat, _, findErr := cmd.Find([]string{"chat"})
		if findErr == nil && chat.Flags().Lookup(name) != nil {
			return fmt.Errorf("%w; it is a flag%s", err, where)
		}
		if flag := firstFlag(otherFlags()[name]); findErr == nil && flag != "" && chat.Flags().Lookup(flag) == nil {
			where = " of attractor run"
		}
	} else if cmd.Flags().Lookup("allow-tool") == nil {
		return err
	}
	here, ok := otherFlags()[name]
	if !ok {
		if instead, ok := lackingFlags()[name]; ok {
			return fmt.Errorf("%w; no flag here does the same; %s (docs/coming-from)", err, instead)
		}
		return err
	}
	switch flag := firstFlag(here); {
	case here == "attractor run" && cmd.Name() == "run":
		return fmt.Errorf("%w; leave it out: attractor run needs no flag for that (docs/coming-from)", err)
	case strings.HasPrefix(here, "attractor "):
		where = ""
	case where == "" && cmd.Flags().Lookup(flag) == nil:
		where = " of attractor run"
	}
	return fmt.Errorf("%w; here it is %s%s (docs/coming-from)", err, here, where)
}

// firstFlag returns the name of the first flag in a text.
func firstFlag(text string) string {
	for word := range strings.FieldsSeq(text) {
		if name, is := strings.CutPrefix(word, "--"); is {
			return strings.TrimSuffix(name, ",")
		}
	}
	return ""
}
