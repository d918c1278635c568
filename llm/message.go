package llm

// Role says who speaks.
type Role string

// The roles. A provider maps them to what its API has.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // holds ToolResult parts
)

// Message is one entry of a conversation. A message that has been sent is never changed: providers cache its encoded form by
// identity (see [Memo]).
type Message struct {
	Role  Role  `json:"role"`
	Parts Parts `json:"parts"`
	// Provider and Model name the author of an assistant message. What a provider signed (thinking, signatures, opaque parts)
	// means nothing to another one.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// System is a system message.
func System(text string) Message { return Message{Role: RoleSystem, Parts: TextParts(text)} }

// User is a user message: text, then anything more.
func User(text string, more ...Part) Message {
	return Message{Role: RoleUser, Parts: append(TextParts(text), more...)}
}

// Assistant is an assistant message of plain text.
func Assistant(text string) Message { return Message{Role: RoleAssistant, Parts: TextParts(text)} }

// ToolResults is the message that answers an assistant message's calls.
func ToolResults(results ...ToolResult) Message {
	m := Message{Role: RoleTool, Parts: make(Parts, 0, len(results))}
	for _, r := range results {
		m.Parts = append(m.Parts, r)
	}
	return m
}
