package openai

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed prompt.md
var prompt string

//go:embed tools.md
var toolsPart string

// DefaultModel is what the profile asks for unless told otherwise: the newest general model of package llm/catalog (2026-11-20).
const DefaultModel = "gpt-6.1-sol"

// shellTimeout is how long a command may take when the model does not say.
const shellTimeout = 10 * time.Second

// options ask for summaries of the reasoning, which are all that one gets to see of it, also where the session sets no effort. The
// provider itself asks for the encrypted reasoning that goes back to the model.
const options = `{"reasoning":{"summary":"auto"}}`

// Profile returns the profile, a value of its own for each caller.
func Profile() profile.Profile {
	return profile.Profile{
		Name:     "openai",
		Provider: "openai",
		Model:    DefaultModel,
		Prompt:   profile.PromptWith(prompt, toolsPart),
		Tools: append([]tool.Tool{
			coding.ReadFile(),
			coding.ApplyPatch(),
			coding.WriteFile(),
			coding.Shell(shellTimeout),
			coding.Grep(),
			coding.Glob(),
			coding.ReadOutput(),
			coding.Process(),
			coding.UpdatePlan(),
			coding.AskUser(),
		}, coding.Agents()...),
		Documents: documents(),
		Options:   json.RawMessage(options),
	}
}

// documents are the profile's own, beside AGENTS.md.
func documents() []string { return []string{".codex/instructions.md"} }
