package gemini

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

// DefaultModel is what the profile asks for unless told otherwise: the newest general model that package llm/catalog lists for the
// provider, which is no preview.
const DefaultModel = "gemini-4-argon"

// shellTimeout is how long a command may take when the model does not say.
const shellTimeout = 10 * time.Second

// Profile returns the profile, a value of its own for each caller. Its Options are empty: thinking, safety settings and grounding are what
// the API does when nothing is asked of it. See [Settings].
func Profile() profile.Profile {
	return profile.Profile{
		Name:     "gemini",
		Provider: "gemini",
		Model:    DefaultModel,
		Prompt:   profile.PromptWith(prompt, toolsPart),
		Tools: append([]tool.Tool{
			coding.ReadFile(),
			coding.ReadManyFiles(),
			coding.WriteFile(),
			coding.EditFile(),
			coding.Shell(shellTimeout),
			coding.Grep(),
			coding.Glob(),
			coding.ListDir(),
			coding.ReadOutput(),
			coding.Process(),
			coding.AskUser(),
		}, coding.Agents()...),
		Documents: []string{"GEMINI.md"},
	}
}
