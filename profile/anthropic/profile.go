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

// DefaultModel is what the profile asks for unless told otherwise: the newest model of the middle size.
const DefaultModel = "claude-sonnet-5-5"

// shellTimeout is how long a command may take when the model does not say: Claude models were trained with two minutes.
const shellTimeout = 120 * time.Second

// Profile returns the profile, a value of its own for each caller.
func Profile() profile.Profile {
	return profile.Profile{
		Name:     "anthropic",
		Provider: "anthropic",
		Model:    DefaultModel,
		Prompt:   profile.PromptWith(prompt, toolsPart),
		Tools: append([]tool.Tool{
			coding.ReadFile(),
			coding.WriteFile(),
			coding.EditFile(),
			coding.Shell(shellTimeout),
			coding.Grep(),
			coding.Glob(),
			coding.ReadOutput(),
			coding.Process(),
			coding.AskUser(),
		}, coding.Agents()...),
		Documents: []string{"CLAUDE.md"},
	}
}
