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

// DefaultModel is the profile's model unless the host sets another: the newest general model of
// package llm/catalog (2026-11-20).
const DefaultModel = "gpt-6.2-sol"

// shellTimeout is the default time limit of a command.
const shellTimeout = 10 * time.Second

// options asks for summaries of the reasoning, which is all of it that the API shows, also if the
// session sets no effort. The provider itself asks for the encrypted reasoning that goes back to
// the model.
const options = `{"reasoning":{"summary":"auto"}}`

// Profile returns the profile. Each caller gets its own value.
func Profile() profile.Profile {
	p := base()
	p.Prompt = profile.PromptWith(prompt, toolsPart)
	p.Tools = append([]tool.Tool{
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
	}, coding.Agents()...)
	p.Options = json.RawMessage(options)
	return p
}

// base returns what both dialects of the profile have.
func base() profile.Profile {
	return profile.Profile{Name: "openai", Provider: "openai", Model: DefaultModel,
		Documents: []string{".codex/instructions.md"}}
}
