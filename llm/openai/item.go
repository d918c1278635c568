package openai

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// addText adds the model's text. Its phase (commentary or final_answer) is sent back with it, as
// newer models require.
func (c *conversation) addText(t llm.Text, own bool) {
	if t.Text == "" {
		return
	}
	c.item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
	c.items = append(api.AppendString(c.items, t.Text), `}]`...)
	if own && t.Signature != "" {
		c.items = api.AppendMember(c.items, `,"phase":`, t.Signature)
	}
	c.items = append(c.items, '}')
}

// addReasoning adds a reasoning item. Without its encrypted content it is skipped, because its id
// would refer to something that the server did not keep: "Items are not persisted when `store` is
// set to false."
func (c *conversation) addReasoning(parts llm.Parts) {
	var id, encrypted string
	summary := []byte{'['}
	for _, part := range parts {
		t := part.(llm.Thinking)
		id = t.ID
		encrypted = cmp.Or(t.Signature, encrypted)
		if t.Text == "" {
			continue
		}
		if len(summary) > 1 {
			summary = append(summary, ',')
		}
		summary = append(api.AppendMember(summary, `{"type":"summary_text","text":`, t.Text), '}')
	}
	if encrypted == "" {
		return
	}
	c.item(`{"type":"reasoning"`)
	if id != "" {
		c.items = api.AppendMember(c.items, `,"id":`, id)
	}
	c.items = append(append(append(c.items, `,"summary":`...), summary...), `],"encrypted_content":`...)
	c.items = append(api.AppendString(c.items, encrypted), '}')
}

// addCall adds a call with the arguments as the model wrote them, even broken ones: the API takes a
// string.
func (c *conversation) addCall(call llm.ToolCall) {
	kind, member, args := "function_call", "arguments", call.Args
	switch {
	case c.search != "" && call.Name == c.search:
		c.addSearch(call)
		return
	case call.Free:
		kind, member = "custom_tool_call", "input"
		c.outputs[call.ID] = "custom_tool_call_output"
	case strings.TrimSpace(args) == "":
		args = "{}"
	}
	c.item(`{"type":"` + kind + `","call_id":`)
	b := api.AppendString(c.items, api.PlainID(call.ID, maxCallID))
	b = api.AppendMember(b, `,"name":`, api.CallName(call.Name))
	b = append(append(append(b, `,"`...), member...), `":`...)
	c.items = append(api.AppendString(b, args), '}')
}

// appendContent writes a list of text and media, or nothing if it is empty.
func appendContent(b []byte, content llm.Parts) ([]byte, error) {
	separator := byte('[')
	separate := func() []byte {
		b = append(b, separator)
		separator = ','
		return b
	}
	for _, part := range content {
		var err error
		switch part := part.(type) {
		case llm.ToolReference:
		case llm.Text:
			if part.Text != "" {
				b = append(api.AppendMember(separate(), `{"type":"input_text","text":`, part.Text), '}')
			}
		case llm.Media:
			b, err = appendMedia(separate(), part)
		default:
			err = llm.Errorf(llm.ErrInvalidRequest, "content cannot hold a part of type %T", part)
		}
		if err != nil {
			return nil, err
		}
	}
	if separator == ',' {
		b = append(b, ']')
	}
	return b, nil
}

// appendMedia writes an image or a file. The API reads text, Office documents and many other types
// from files, so only media that it can neither see nor read are refused here.
func appendMedia(b []byte, m llm.Media) ([]byte, error) {
	kind, _, _ := strings.Cut(m.MIME, "/")
	switch {
	case kind == "image" && (m.URL != "" || slices.Contains([]string{"image/jpeg", "image/png", "image/gif",
		"image/webp"}, m.MIME)):
		b = append(b, `{"type":"input_image","image_url":`...)
		b = appendSource(b, m)
		if m.Detail != "" {
			b = api.AppendMember(b, `,"detail":`, m.Detail)
		}
	case (kind == "application" || kind == "text") && m.URL != "":
		b = appendSource(append(b, `{"type":"input_file","file_url":`...), m)
	case kind == "application" || kind == "text":
		b = api.AppendMember(b, `{"type":"input_file","filename":`, fileName(m))
		b = appendSource(append(b, `,"file_data":`...), m)
	default:
		return nil, llm.Errorf(llm.ErrUnsupported,
			"media of type %q: the Responses API takes jpeg, png, gif and webp images, pdf and other documents, "+
				"and text", m.MIME)
	}
	return append(b, '}'), nil
}

func appendSource(b []byte, m llm.Media) []byte {
	if m.URL != "" {
		return api.AppendString(b, m.URL)
	}
	b = appendInner(append(b, `"data:`...), m.MIME)
	b = append(b, `;base64,`...)
	return append(base64.StdEncoding.AppendEncode(b, m.Data), '"')
}

// fileName returns a name with the extension by which the API recognizes a file's type.
func fileName(m llm.Media) string {
	switch {
	case m.Name != "":
		return m.Name
	case m.MIME == "application/pdf":
		return "document.pdf"
	case m.MIME == "application/json":
		return "document.json"
	case strings.HasPrefix(m.MIME, "text/"):
		return "document.txt"
	}
	return "document"
}
