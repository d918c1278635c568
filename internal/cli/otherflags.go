package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/internal/texts"
)

// otherFlags returns, by the names of flags of claude -p and codex exec that do not exist here,
// what takes their place.
func otherFlags() map[string]string {
	const agents = "a file (attractor agents)"
	return map[string]string{
		"p": "attractor run, without a flag", "print": "attractor run, without a flag",
		"output-format": "attractor run --json", "verbose": "attractor run --json",
		"include-partial-messages": "attractor run --json", "input-format": "attractor run --input json",
		"permission-prompt-tool": "attractor run --input json", "json-schema": "attractor run --output-schema",
		"o": "attractor run --output", "output-last-message": "attractor run --output",
		"session-id":   "the session_id of the first event of attractor run --json",
		"tools":        "--deny-tool NAME, which takes a tool away",
		"allowedTools": "--allow-tool", "allowed-tools": "--allow-tool",
		"disallowedTools": "--deny-tool", "disallowed-tools": "--deny-tool", "permission-mode": "--mode",
		"approval-mode": "--mode", "a": "--mode", "ask-for-approval": "--mode", "yolo": "--yes", "y": "--yes",
		"dangerously-skip-permissions": "--yes", "dangerously-bypass-approvals-and-sandbox": "--yes",
		"s":         "--yes --sandbox read-only, --yes --sandbox workspace, or --yes",
		"full-auto": "--yes --sandbox workspace",
		"trust":     "--trust-project", "dangerously-bypass-hook-trust": "--trust-project",
		"setting-sources":     "attractor trust, without which what a project brings does not count",
		"skip-git-repo-check": "not needed: sessions work in any directory",
		"c":                   "--continue, or a flag of the setting", "last": "--continue",
		"r": "--resume", "fork-session": "--fork",
		"no-session-persistence": "--no-journal", "ephemeral": "--no-journal",
		"append-system-prompt": "--instructions", "system-prompt": "--instructions, which adds to it",
		"fallback-model": "--fallback", "max-budget-usd": "--budget-usd", "m": "--model", "oss": "--provider",
		"mcp-config": "--mcp", "strict-mcp-config": "--no-mcp, which starts no servers", "settings": "--rules",
		"debug-file": "--debug", "C": "--dir", "cd": "--dir", "i": "--image", "agent": agents, "agents": agents,
	}
}

// otherCommand returns what takes the place here of a command of claude, codex or opencode that
// does not exist, or "".
func otherCommand(parent *cobra.Command, name string) string {
	const key = "a key in a variable, such as ANTHROPIC_API_KEY (attractor models --providers)"
	const again, file = "installing it again (docs/install.md)", "a file (attractor mcp --help)"
	return map[string]string{
		"attractor exec": "attractor run", "attractor resume": "attractor chat --resume",
		"attractor login": key, "attractor auth": key,
		"attractor update": again, "attractor upgrade": again,
		"attractor skills": "attractor commands", "attractor init": "/init in attractor chat",
		"attractor mcp add": file, "attractor mcp remove": file,
	}[parent.CommandPath()+" "+name]
}

// unknownFlagError adds to the error about an unknown flag what takes its place here, if it is one
// of another program, or else the flags that it resembles. It does the first in commands that run
// sessions, and for attractor without a command, which names those that have the flag.
func unknownFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name, sessions := unknown.GetSpecifiedName(), cmd
	if !cmd.HasParent() {
		if chat, _, findErr := cmd.Find([]string{"chat"}); findErr == nil {
			sessions = chat
		}
	}
	here, other := otherFlags()[name]
	switch {
	case other && sessions.Flags().Lookup("allow-tool") != nil:
		return fmt.Errorf("%w; here it is %s (docs/coming-from)", err, here)
	case sessions != cmd && sessions.Flags().Lookup(name) != nil:
		return fmt.Errorf("%w; it is a flag of attractor run and attractor chat", err)
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
