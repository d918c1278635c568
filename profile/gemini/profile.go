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

// DefaultModel is the profile's model unless the host sets another: the newest general model in
// package llm/catalog that is not a preview.
const DefaultModel = "gemini-4-argon"

// shellTimeout is the default time limit of a command.
const shellTimeout = 10 * time.Second

// Profile returns the profile. Each caller gets its own value. Its Options are empty, so that
// thinking and safety settings follow the API's defaults. A host sets them in the API's words:
//
//	{"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]}
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
