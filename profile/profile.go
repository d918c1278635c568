package profile

import (
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// Profile holds the prompt, tools and defaults for one model family. Hosts may change any field of
// their copy before they pass it to a session. Sessions never change it, so any number of them can
// share one.
type Profile struct {
	Name string
	// Dialect is "" for this project's own tools, or "native" for those of the vendor's agent.
	Dialect string
	// Provider names the provider that the profile is made for. Model is the default model.
	Provider, Model string
	// Prompt is the first layer of the system prompt: who the agent is and how it works.
	Prompt string
	// Tools are offered in this order.
	Tools []tool.Tool
	// Documents are the documents of a directory that sessions have beside AGENTS.md, as
	// slash-separated paths. A name that ends with a slash is a directory with rules; see
	// instructions.Options.
	Documents []string
	// Sequential says that the calls of a response run one after the other, and asks the model for
	// one call at a time.
	Sequential bool
	// Options holds the provider's options as one JSON object.
	Options json.RawMessage
}

// PromptWith returns a prompt in which {{tools}} is replaced by the part about a dialect's tools.
func PromptWith(prompt, tools string) string {
	return strings.Replace(prompt, "{{tools}}", strings.TrimSpace(tools), 1)
}
