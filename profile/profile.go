package profile

import (
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// Profile suits one model family. Hosts may change any field of their copy before they give it to a session; sessions never do, and any
// number of them can share one, which saves memory.
type Profile struct {
	Name string
	// Dialect is "" for this project's own tool names, "native" for those of the vendor's agent.
	Dialect string
	// Provider is the provider that the profile is made for, Model its default.
	Provider, Model string
	// Prompt is the first layer of the system prompt: who the agent is and how it works.
	Prompt string
	// Tools are offered in this order.
	Tools []tool.Tool
	// Documents are the names of project documents that go into the prompt beside AGENTS.md, slash-separated.
	Documents []string
	// Sequential says that the calls of one answer run one after the other, and asks the model for one call at a time.
	Sequential bool
	// Options are provider options: one JSON object.
	Options json.RawMessage
}

// toolsMark stands in a prompt where the part about tools goes.
const toolsMark = "{{tools}}"

// PromptWith returns a prompt in which {{tools}} is replaced by the part about the tools of one dialect.
func PromptWith(prompt, tools string) string {
	return strings.Replace(prompt, toolsMark, strings.TrimSpace(tools), 1)
}
