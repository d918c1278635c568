package anthropic

import (
	_ "embed"
	"time"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed prompt.md
var prompt string

//go:embed tools.md
var toolsPart string

// DefaultModel is the profile's model unless the host sets another: the newest model of the middle
// size.
const DefaultModel = "claude-sonnet-5-5"

// shellTimeout is the default time limit of a command. Claude models were trained with two minutes.
const shellTimeout = 120 * time.Second

// Profile returns the profile. Each caller gets its own value.
func Profile() profile.Profile {
	p := base()
	p.Prompt = profile.PromptWith(prompt, toolsPart)
	p.Tools = append([]tool.Tool{
		coding.ReadFile(),
		coding.WriteFile(),
		coding.EditFile(),
		coding.Shell(shellTimeout),
		coding.Grep(),
		coding.Glob(),
		coding.ReadOutput(),
		coding.Process(),
		coding.AskUser(),
	}, coding.Agents()...)
	return p
}

// base returns what both dialects of the profile have.
func base() profile.Profile {
	return profile.Profile{Name: "anthropic", Provider: "anthropic", Model: DefaultModel,
		Documents: []string{"CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/"}}
}
