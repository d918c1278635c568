package llm

// Role tells who wrote a message.
type Role string

// The roles. A provider maps them to those of its API.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // holds ToolResult parts
)

// Message is one entry of a conversation. A message must not change after it was sent: providers
// cache its encoded form by identity (see [Memo]).
type Message struct {
	Role  Role  `json:"role"`
	Parts Parts `json:"parts"`
	// Provider and Model name the author of an assistant message. Only that provider can use its
	// signed content: thinking, signatures and opaque parts.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// System returns a system message.
func System(text string) Message { return Message{Role: RoleSystem, Parts: TextParts(text)} }

// User returns a user message with a text and more parts.
func User(text string, more ...Part) Message {
	return Message{Role: RoleUser, Parts: append(TextParts(text), more...)}
}

// Assistant returns an assistant message of plain text.
func Assistant(text string) Message { return Message{Role: RoleAssistant, Parts: TextParts(text)} }

// ToolResults returns a message with the results of an assistant message's calls.
func ToolResults(results ...ToolResult) Message {
	m := Message{Role: RoleTool, Parts: make(Parts, 0, len(results))}
	for _, r := range results {
		m.Parts = append(m.Parts, r)
	}
	return m
}
