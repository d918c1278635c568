package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/names"
)

// decodable returns the result of a request in a form that the SDK can decode. The SDK refuses the
// whole result of a call, a resource or a prompt if it does not know one of its parts. Here such a
// part becomes a line, and a member that cannot be decoded is left out. Results of other requests
// stay as they are.
func decodable(result json.RawMessage) json.RawMessage {
	if list := decodableList(result, "contents", new(sdk.ReadResourceResult), decodableResource); list != nil {
		return list
	}
	if list := decodableList(result, "messages", new(sdk.GetPromptResult), decodableMessages); list != nil {
		return list
	}
	hasContent := bytes.Contains(result, []byte(`"content"`))
	if !hasContent && !bytes.Contains(result, []byte(`"toolResult"`)) {
		return result
	}
	if hasContent && json.Unmarshal(result, new(sdk.CallToolResult)) == nil {
		return result
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result // the SDK says what is wrong with it
	}
	content, legacy := members["content"], members["toolResult"]
	if content == nil && legacy == nil {
		return result
	}
	if content == nil {
		content = legacy // the first version of the protocol had only this member
	}
	delete(members, "content")
	dropMalformed(members)
	members["content"] = encoded(decodableParts(content))
	return encoded(members)
}

// dropMalformed removes the members of a result that the SDK cannot decode. A malformed isError
// still says that the call has failed.
func dropMalformed(members map[string]json.RawMessage) {
	for name, value := range members {
		alone := encoded(map[string]json.RawMessage{name: value})
		if json.Unmarshal(alone, new(sdk.CallToolResult)) == nil {
			continue
		}
		delete(members, name)
		if name == "isError" && !slices.Contains([]string{`"false"`, `""`, "0"}, string(value)) {
			members[name] = json.RawMessage("true")
		}
	}
}

// decodableParts returns the parts of a content. Content that is not a list is its only part.
func decodableParts(content json.RawMessage) []json.RawMessage {
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		parts = []json.RawMessage{content}
	}
	all := make([]json.RawMessage, len(parts))
	for i, part := range parts {
		all[i] = decodablePart(part)
	}
	return all
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
		names.Shown(oneLine(kind)), len(part)))
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

// decodableList returns a result whose list of this name the SDK can decode, or nil if there is no such
// list or it can be decoded as it is.
func decodableList(result json.RawMessage, name string, whole any, each func(json.RawMessage) []any) json.RawMessage {
	if !bytes.Contains(result, []byte(`"`+name+`"`)) || json.Unmarshal(result, whole) == nil {
		return nil
	}
	var members map[string]json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal(result, &members) != nil || members["content"] != nil || json.Unmarshal(members[name], &parts) != nil {
		return nil
	}
	all := []any{}
	for _, part := range parts {
		all = append(all, each(part)...)
	}
	return encoded(map[string]any{name: all})
}

// decodableResource returns the content of a resource, or a text that says what was left out.
func decodableResource(part json.RawMessage) []any {
	if json.Unmarshal(part, new(sdk.ResourceContents)) == nil {
		return []any{part}
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(part, &members) // what is no object has no members
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"uri", "mimeType", "text", "blob"} {
		if json.Unmarshal(members[name], new(string)) == nil {
			kept[name] = members[name]
		}
	}
	if kept["text"] != nil || json.Unmarshal(encoded(kept), new(sdk.ResourceContents)) != nil {
		delete(kept, "blob")
	}
	if kept["text"] == nil && kept["blob"] == nil {
		kept["text"] = encoded(fmt.Sprintf("[A part of %d bytes of JSON was left out: it is unknown or malformed.]", len(part)))
	}
	return []any{kept}
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
	for _, part := range decodableParts(m.Content) {
		all = append(all, map[string]any{"role": m.Role, "content": part})
	}
	return all
}
