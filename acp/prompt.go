package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool/coding"
)

// partsOf returns the content blocks of a prompt: the text at its beginning, which may be a
// command, and what follows.
func partsOf(blocks []block) (text string, more []llm.Part, err error) {
	if len(blocks) == 0 {
		return "", nil, Errorf(CodeInvalidParams, "the prompt is empty")
	}
	for i, b := range blocks {
		part, err := partOf(&b)
		if err != nil {
			return "", nil, Errorf(CodeInvalidParams, "prompt[%d]: %w", i, err)
		}
		if t, ok := part.(llm.Text); ok && len(more) == 0 && (i == 0 || text != "" && text[0] != '/') {
			text += t.Text
			continue
		}
		more = append(more, part)
	}
	if text == "" && len(more) == 0 {
		return "", nil, Errorf(CodeInvalidParams, "the prompt is empty")
	}
	return text, more, nil
}

// partOf returns a content block as a part of a message.
func partOf(b *block) (llm.Part, error) {
	switch b.Type {
	case "text":
		return llm.Text{Text: b.Text}, nil
	case "image":
		return image(b.MIME, b.Data)
	case "resource_link":
		return llm.Text{Text: link(b)}, nil
	case "resource":
		return embedded(b.Resource)
	case "audio":
		return nil, fmt.Errorf("this agent does not take audio")
	}
	return nil, fmt.Errorf("unknown type %q", shortened(b.Type, 100))
}

// image returns an image that is in Base64. Its content says what type it has.
func image(mime, data string) (llm.Part, error) {
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("data must be the image in Base64: %w", err)
	}
	m, err := coding.Image("", decoded)
	if err != nil {
		return nil, fmt.Errorf("the image, which is said to be %q, is %w", shortened(mime, 100), err)
	}
	return m, nil
}

// link returns what the model reads of a resource that it may look at.
func link(b *block) string {
	text := "[" + placeOf(b.URI) + "]"
	if b.Name != "" && !strings.HasSuffix(placeOf(b.URI), b.Name) {
		text = "[" + b.Name + "](" + placeOf(b.URI) + ")"
	}
	if about := strings.TrimSpace(b.Title + " " + b.About); about != "" {
		text += " (" + about + ")"
	}
	return text
}

// placeOf returns the path of a file, and any other URI as it is.
func placeOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && u.Path != "" {
		if u.Fragment != "" {
			return u.Path + "#" + u.Fragment
		}
		return u.Path
	}
	return uri
}

// embedded returns the content of a resource.
func embedded(r *resource) (llm.Part, error) {
	switch {
	case r == nil:
		return nil, fmt.Errorf("resource is missing")
	case r.Text != nil:
		end := "\n"
		if strings.HasSuffix(*r.Text, "\n") {
			end = ""
		}
		return llm.Text{Text: fmt.Sprintf("\n<resource uri=%q>\n%s%s</resource>\n", placeOf(r.URI), *r.Text, end)}, nil
	case r.Blob == nil:
		return nil, fmt.Errorf("resource has neither text nor blob")
	case strings.HasPrefix(r.MIME, "image/"):
		return image(r.MIME, *r.Blob)
	}
	return nil, fmt.Errorf("the resource %s is neither text nor an image", shortened(r.URI, 200))
}
