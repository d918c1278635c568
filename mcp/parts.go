package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/texts"
)

// decodable returns the result of a request in a form that the SDK can decode. The SDK refuses the
// whole result of a call, a resource or a prompt if it does not know one of its parts, and a whole
// list if one of its entries is malformed. Here such a part becomes a line, and a member or an
// entry that cannot be decoded is left out. Results of other requests stay as they are.
func decodable(result json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result // the SDK says what is wrong with it
	}
	// The first version of the protocol had only the member toolResult.
	if legacy := members["toolResult"]; legacy != nil && members["content"] == nil {
		members["content"] = legacy
		result = encoded(members)
	}
	for _, kind := range []struct {
		name  string
		whole any
		each  func(json.RawMessage) []any
	}{
		{"content", new(sdk.CallToolResult), func(part json.RawMessage) []any { return []any{decodablePart(part)} }},
		{"contents", new(sdk.ReadResourceResult), decodableResource},
		{"messages", new(sdk.GetPromptResult), decodableMessages},
		{"tools", new(sdk.ListToolsResult), decodableEntry[sdk.Tool]},
		{"prompts", new(sdk.ListPromptsResult), decodableEntry[sdk.Prompt]},
		{"resources", new(sdk.ListResourcesResult), decodableEntry[sdk.Resource]},
		{"resourceTemplates", new(sdk.ListResourceTemplatesResult), decodableEntry[sdk.ResourceTemplate]},
	} {
		list := members[kind.name]
		if list == nil || json.Unmarshal(result, kind.whole) == nil {
			continue
		}
		parts := []any{}
		for _, part := range partsOf(list) {
			parts = append(parts, kind.each(part)...)
		}
		return encoded(withMembers(kind.name, parts, members))
	}
	return result
}

// withMembers returns a result with parts, and with those of its members that say more. A malformed
// isError still says that the call has failed.
func withMembers(name string, parts []any, members map[string]json.RawMessage) map[string]any {
	result := map[string]any{name: parts}
	for _, more := range []string{"structuredContent", "resultType", "nextCursor"} {
		if value := members[more]; value != nil {
			result[more] = value
		}
	}
	if !slices.Contains([]string{"", "null", "false", `"false"`, `""`, "0"}, string(members["isError"])) {
		result["isError"] = true
	}
	return result
}

// decodableMembers returns the members of an object that can be decoded, each by itself.
func decodableMembers[T any](object json.RawMessage) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(object, &members) // what is no object has no members
	maps.DeleteFunc(members, func(name string, value json.RawMessage) bool {
		return json.Unmarshal(encoded(map[string]json.RawMessage{name: value}), new(T)) != nil
	})
	return members
}

// decodableEntry returns an entry of a list without the members that cannot be decoded, or nothing
// if it has no name then.
func decodableEntry[T any](entry json.RawMessage) []any {
	members := decodableMembers[T](entry)
	if members["name"] == nil {
		return nil
	}
	return []any{members}
}

// partsOf returns the parts of a content. Content that is not a list is its only part.
func partsOf(content json.RawMessage) (parts []json.RawMessage) {
	if json.Unmarshal(content, &parts) != nil {
		return []json.RawMessage{content}
	}
	return parts
}

// decodablePart returns a part that the SDK can decode: the part, what counts of it, or a text.
func decodablePart(part json.RawMessage) json.RawMessage {
	if isContent(part) {
		return part
	}
	var text string
	if json.Unmarshal(part, &text) == nil {
		return textPart(text)
	}
	var members map[string]json.RawMessage
	var kind string
	if json.Unmarshal(part, &members) != nil || json.Unmarshal(members["type"], &kind) != nil {
		return textPart(string(part)) // a value of the server's, without the form of a part
	}
	for _, name := range []string{"annotations", "_meta", "icons", "size", "title"} {
		delete(members, name)
	}
	if short := encoded(members); isContent(short) {
		return short
	}
	return textPart(fmt.Sprintf("[A part of the type %s, %d bytes of JSON, was left out: it is unknown or malformed.]",
		texts.Shown(oneLine(kind)), len(part)))
}

// isContent reports whether the SDK can decode a part.
func isContent(part json.RawMessage) bool {
	list := encoded(map[string][]json.RawMessage{"content": {part}})
	return json.Unmarshal(list, new(sdk.CallToolResult)) == nil
}

// textPart returns a part with a text.
func textPart(text string) json.RawMessage {
	return encoded(map[string]string{"type": "text", "text": text})
}

// decodableResource returns the content of a resource, or a text that says what was left out.
func decodableResource(part json.RawMessage) []any {
	if json.Unmarshal(part, new(sdk.ResourceContents)) == nil {
		return []any{part}
	}
	members := decodableMembers[sdk.ResourceContents](part)
	switch {
	case members == nil:
		members = map[string]json.RawMessage{}
	case members["text"] != nil:
		delete(members, "blob")
	}
	if members["text"] == nil && members["blob"] == nil {
		members["text"] = encoded(fmt.Sprintf("[A part of %d bytes of JSON was left out: it is unknown or malformed.]",
			len(part)))
	}
	return []any{members}
}

// decodableMessages returns a message of a prompt, one for each part of its content.
func decodableMessages(message json.RawMessage) []any {
	var m struct {
		Role    json.RawMessage `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil || m.Content == nil {
		m.Content = message
	}
	if json.Unmarshal(m.Role, new(string)) != nil {
		m.Role = encoded("user")
	}
	var all []any
	for _, part := range partsOf(m.Content) {
		all = append(all, map[string]any{"role": m.Role, "content": decodablePart(part)})
	}
	return all
}
