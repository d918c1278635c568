package gemini

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// addUser encodes the messages between two responses: the function responses, the media that do not
// fit into them, and then everything else.
func (c *conversation) addUser(messages []llm.Message) error {
	var media []llm.Media
	for _, m := range messages {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				rest, err := c.addResponse(r)
				if err != nil {
					return err
				}
				media = append(media, rest...)
			}
		}
	}
	for _, m := range media {
		if err := c.addMedia(m); err != nil {
			return err
		}
	}
	for _, m := range messages {
		for _, part := range m.Parts {
			if err := c.addUserPart(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *conversation) addUserPart(part llm.Part) error {
	switch part := part.(type) {
	case llm.ToolResult: // encoded before
		return nil
	case llm.Text:
		c.addText(wireUser, part.Text, "")
		return nil
	case llm.Media:
		return c.addMedia(part)
	case llm.Opaque:
		return c.addOpaque(wireUser, part)
	}
	return llm.Errorf(llm.ErrInvalidRequest, "a user message cannot hold a part of type %T", part)
}

// addResponse encodes a result. Models from Gemini 3 on accept its media within the function
// response, earlier models only outside. It returns the media that go outside.
func (c *conversation) addResponse(r llm.ToolResult) (rest []llm.Media, err error) {
	var nested []llm.Media
	for _, part := range r.Content {
		switch part := part.(type) {
		case llm.Text, llm.ToolReference:
		case llm.Media:
			if c.model == gemini3 && nestable(part) {
				nested = append(nested, part)
			} else {
				rest = append(rest, part)
			}
		default:
			return nil, llm.Errorf(llm.ErrInvalidRequest, "a tool result cannot hold a part of type %T", part)
		}
	}
	name := callName(r.Name)
	if called, ok := c.names[r.CallID]; ok {
		name = called
	}
	c.part(wireUser)
	c.responses = true
	b := append(c.contents, `{"functionResponse":{`...)
	b = appendID(b, r.CallID)
	b = api.AppendMember(b, `"name":`, name)
	if r.IsError {
		b = append(b, `,"response":{"error":`...)
	} else {
		b = append(b, `,"response":{"output":`...)
	}
	b = append(api.AppendString(b, r.Content.Text()), '}')
	separator := `,"parts":[`
	for _, m := range nested {
		b = appendInline(append(b, separator...), m)
		separator = ","
	}
	if len(nested) > 0 {
		b = append(b, ']')
	}
	c.contents = append(b, `}}`...)
	return rest, nil
}

// nestable reports whether media may stand in a function response: it needs bytes of a type that
// Google lists for this.
func nestable(m llm.Media) bool {
	return m.URL == "" && slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "application/pdf",
		"text/plain"}, m.MIME)
}

// addMedia refuses types that the API does not accept, before anything is sent. The API refuses
// media next to function responses ("Request contains an invalid argument"), and older models
// sometimes do, so there they begin a content of their own.
func (c *conversation) addMedia(m llm.Media) error {
	kind, _, _ := strings.Cut(m.MIME, "/")
	known := kind == "audio" || kind == "video" || kind == "text" || m.MIME == "application/pdf" ||
		slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, m.MIME)
	if !known && (m.URL == "" || m.MIME != "") { // the API can determine the type of a URL's content
		return llm.Errorf(llm.ErrUnsupported,
			"media of type %q: the Gemini API takes png, jpeg, webp, heic and heif images, audio, "+
				"video, pdf documents and text", m.MIME)
	}
	if c.role == wireUser && c.responses {
		c.content(wireUser)
	} else {
		c.part(wireUser)
	}
	if m.URL == "" {
		c.contents = appendInline(c.contents, m)
		return nil
	}
	b := append(c.contents, `{"fileData":{`...)
	if m.MIME != "" {
		b = append(api.AppendMember(b, `"mimeType":`, m.MIME), ',')
	}
	b = append(b, `"fileUri":`...)
	c.contents = append(api.AppendString(b, m.URL), `}}`...)
	return nil
}

func appendInline(b []byte, m llm.Media) []byte {
	b = api.AppendMember(b, `{"inlineData":{"mimeType":`, m.MIME)
	b = append(b, `,"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, m.Data)
	return append(b, `"}}`...)
}
