package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// maxImages limits the images of one result.
const maxImages = 10

// resultOf returns what a server answered. Structured content is appended if no text has it.
func resultOf(got *sdk.CallToolResult) tool.Result {
	b := builder{}
	var texts []string
	for _, part := range got.Content {
		b.add(part)
		if t, ok := part.(*sdk.TextContent); ok {
			texts = append(texts, strings.TrimSpace(t.Text))
		}
	}
	result := tool.Result{IsError: got.IsError}
	if got.StructuredContent != nil {
		result.Structured = encoded(got.StructuredContent)
		if !tells(texts, got.StructuredContent) && !b.shows(string(result.Structured)) {
			b.line(string(result.Structured))
		}
	}
	if result.Content = b.content(); len(result.Content) == 0 {
		result.Content = llm.TextParts("The call succeeded and returned nothing.")
		if got.IsError {
			result.Content = llm.TextParts("The call failed, and the server does not say why.")
		}
	}
	return result
}

// tells reports whether texts have a value. Servers repeat structured content as JSON for clients
// that do not know it. What is no object is there the only member of one, such as "result" with the
// Python SDK; the elements of a list are then a text each. Others write something else as text,
// such as "ok".
func tells(texts []string, value any) bool {
	object, _ := value.(map[string]any)
	if len(object) == 1 {
		for _, only := range object {
			list, _ := only.([]any)
			each := func(text string, element any) bool { return holdAny([]string{text}, element) }
			if holdAny(texts, only) || len(list) > 0 && slices.EqualFunc(texts, list, each) {
				return true
			}
		}
	}
	return holdAny(texts, value)
}

// holdAny reports whether one of several texts is a value, as it is or as JSON, or has an object or
// a list in it.
func holdAny(texts []string, value any) bool {
	said, isText := value.(string)
	said = strings.TrimSpace(said)
	data := string(encoded(value))
	nested := strings.ContainsAny(data[:1], "{[")
	return slices.ContainsFunc(texts, func(text string) bool {
		var told any
		return isText && text == said || nested && strings.Contains(text, data) ||
			json.Unmarshal([]byte(text), &told) == nil && reflect.DeepEqual(told, value)
	})
}

// shows reports whether an image of the result is in a value's JSON, which then has the parts once
// more.
func (b *builder) shows(data string) bool {
	return slices.ContainsFunc(b.parts, func(part llm.Part) bool {
		m, ok := part.(llm.Media)
		return ok && strings.Contains(data, base64.StdEncoding.EncodeToString(m.Data))
	})
}

// builder collects the parts of a result.
type builder struct {
	parts  llm.Parts
	text   []byte // what follows the parts
	images int
}

// content returns what was added.
func (b *builder) content() llm.Parts {
	if len(b.text) > 0 {
		b.parts = append(b.parts, llm.Text{Text: string(b.text)})
		b.text = nil
	}
	return b.parts
}

// line adds a piece of text on lines of its own.
func (b *builder) line(text string) {
	if n := len(b.text); n > 0 && b.text[n-1] != '\n' {
		b.text = append(b.text, '\n')
	}
	b.text = append(b.text, text...)
}

func (b *builder) add(part sdk.Content) {
	switch part := part.(type) {
	case *sdk.TextContent:
		if part.Text != "" {
			b.line(part.Text)
		}
	case *sdk.ImageContent:
		b.media(part.MIMEType, part.Data, "")
	case *sdk.AudioContent:
		b.media(part.MIMEType, part.Data, "")
	case *sdk.ResourceLink:
		b.line("[Resource " + row(part.URI, part.Name, part.MIMEType, part.Description) + "]")
	case *sdk.EmbeddedResource:
		b.resource(part.Resource)
	default:
		b.line("[A part of a kind that is not supported was left out.]")
	}
}

// resource adds the content of a resource.
func (b *builder) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		b.media(r.MIMEType, r.Blob, r.URI)
	default:
		b.line("[Resource " + oneLine(r.URI) + "]\n" + r.Text)
	}
}

// media adds an image that every provider takes. For anything else it adds a line that says what
// was left out.
func (b *builder) media(mime string, data []byte, uri string) {
	kind := picture.Type(data)
	why := ""
	switch {
	case kind == "":
		why = "models here take only PNG, JPEG, GIF and WebP images"
	case len(data) > picture.MaxFile:
		why = fmt.Sprintf("it is larger than %d MiB", picture.MaxFile>>20)
	case b.images == maxImages:
		why = fmt.Sprintf("the result has more than %d images", maxImages)
	default:
		b.images++
		b.parts = append(b.content(), llm.Media{MIME: kind, Data: data})
		return
	}
	if uri != "" {
		uri = " of the resource " + oneLine(uri)
	}
	b.line(fmt.Sprintf("[%d bytes of %s%s were left out: %s.]", len(data), oneLine(mime), uri, why))
}

// clean returns text of a server for people and models: without invisible characters, and at most
// max bytes of it.
func clean(text string, max int) string {
	return strings.TrimSpace(sanitize.Text(texts.Cut(text, max, " [...]")))
}

// oneLine returns a short text of a server for a line.
func oneLine(text string) string {
	return strings.Join(strings.Fields(clean(text, 1000)), " ")
}
