package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	maxImage  = 5 << 20 // bytes of an image that every provider takes
	maxImages = 10      // of one result
)

// resultOf returns what a server answered.
func resultOf(got *sdk.CallToolResult) tool.Result {
	b := builder{}
	for _, part := range got.Content {
		b.add(part)
	}
	result := tool.Result{Content: b.parts, IsError: got.IsError}
	if got.StructuredContent != nil {
		if data, err := json.Marshal(got.StructuredContent); err == nil {
			result.Structured = data
			if strings.TrimSpace(result.Content.Text()) == "" {
				result.Content = append(llm.TextParts(string(data)), result.Content...)
			}
		}
	}
	if len(result.Content) == 0 {
		result.Content = llm.TextParts("The call succeeded and returned nothing.")
		if got.IsError {
			result.Content = llm.TextParts("The call failed, and the server does not say why.")
		}
	}
	return result
}

// builder collects the parts of a result.
type builder struct {
	parts  llm.Parts
	images int
}

// text adds a piece of text on lines of its own.
func (b *builder) text(text string) {
	if n := len(b.parts); n > 0 {
		if last, ok := b.parts[n-1].(llm.Text); ok {
			if !strings.HasSuffix(last.Text, "\n") {
				last.Text += "\n"
			}
			b.parts[n-1] = llm.Text{Text: last.Text + text}
			return
		}
	}
	b.parts = append(b.parts, llm.Text{Text: text})
}

func (b *builder) add(part sdk.Content) {
	switch part := part.(type) {
	case *sdk.TextContent:
		b.text(part.Text)
	case *sdk.ImageContent:
		b.media(part.MIMEType, part.Data, "")
	case *sdk.AudioContent:
		b.media(part.MIMEType, part.Data, "")
	case *sdk.ResourceLink:
		b.link(part)
	case *sdk.EmbeddedResource:
		b.resource(part.Resource)
	default:
		b.text("[A part of a kind that is not supported was left out.]")
	}
}

func (b *builder) link(l *sdk.ResourceLink) {
	line := "[Resource " + oneLine(l.URI)
	for _, more := range []string{l.Name, l.MIMEType, l.Description} {
		if more != "" {
			line += "; " + oneLine(more)
		}
	}
	b.text(line + "]")
}

// resource adds the content of a resource.
func (b *builder) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		b.media(r.MIMEType, r.Blob, r.URI)
	default:
		b.text("[Resource " + oneLine(r.URI) + "]\n" + r.Text)
	}
}

// media adds an image that every provider takes. For anything else it adds a line that says what was left out.
func (b *builder) media(mime string, data []byte, uri string) {
	kind := imageType(data)
	why := ""
	switch {
	case kind == "":
		why = "models here take only PNG, JPEG and WebP images"
	case len(data) > maxImage:
		why = fmt.Sprintf("it is larger than %d MiB", maxImage>>20)
	case b.images == maxImages:
		why = fmt.Sprintf("the result has more than %d images", maxImages)
	default:
		b.images++
		b.parts = append(b.parts, llm.Media{MIME: kind, Data: data})
		return
	}
	if uri != "" {
		uri = " of the resource " + oneLine(uri)
	}
	b.text(fmt.Sprintf("[%d bytes of %s%s were left out: %s.]", len(data), oneLine(mime), uri, why))
}

// oneLine returns a short text of a server for a line.
func oneLine(text string) string {
	return strings.Join(strings.Fields(clean(text, 1000)), " ")
}

// imageType returns the media type of an image by its first bytes, or "" if not every provider takes it.
func imageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
