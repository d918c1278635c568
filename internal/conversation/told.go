package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

const leftOutHere = "[%s was here. It is left out, because the model's provider has rejected it.]"

// toldAsText begins the text of calls.
const toldAsText = "[The model's provider has rejected the form of these calls, so they are told as text. " +
	"Go on calling tools as usual.]"

// Placeholder returns what the model reads in place of a part.
func Placeholder(part llm.Part) llm.Part {
	switch p := part.(type) {
	case llm.Media:
		return llm.Text{Text: fmt.Sprintf(leftOutHere, MediaName(p))}
	case llm.ToolResult:
		content := slices.Clone(p.Content)
		replaced := false
		for i, c := range content {
			if IsMedia(c) {
				content[i], replaced = Placeholder(c), true
			}
		}
		if !replaced {
			content = llm.TextParts(fmt.Sprintf(leftOutHere, "The result of this call"))
		}
		p.Content = content
		return p
	case llm.Thinking:
		return llm.Thinking{Text: p.Text} // which providers leave out
	case llm.Opaque:
		return llm.Opaque{Provider: p.Provider} // and this
	}
	return part
}

// IsEncrypted reports whether a part is reasoning that only its provider can read. Gateways have a
// form of their own for it.
func IsEncrypted(part llm.Part) bool {
	switch p := part.(type) {
	case llm.Thinking:
		return p.Signature != ""
	case llm.Opaque:
		return p.Data != "" && p.Search == nil
	}
	return false
}

// MediaName names a medium by its type and size.
func MediaName(m llm.Media) string {
	what := "A document"
	if strings.HasPrefix(m.MIME, "image/") {
		what = "An image"
	}
	if m.URL != "" {
		return fmt.Sprintf("%s (%s)", what, m.MIME)
	}
	return fmt.Sprintf("%s (%s, %d KB)", what, m.MIME, (len(m.Data)+1023)>>10)
}

// ToldAnswer returns the text of an answer alone. Its calls are told with their results.
func ToldAnswer(m llm.Message) llm.Message {
	text := m.Parts.Text()
	if strings.TrimSpace(text) == "" {
		text = "(Calls only; they are told below.)"
	}
	return llm.Assistant(text)
}

// ToldCalls returns the calls of an answer and their results as text, each call with its result.
func ToldCalls(answer, results llm.Message) llm.Message {
	var b strings.Builder
	b.WriteString(toldAsText)
	var media llm.Parts
	for _, call := range answer.Parts.ToolCalls() {
		fmt.Fprintf(&b, "\n\nThe call of %q with %s", call.Name, call.Args)
		for _, p := range results.Parts {
			r, ok := p.(llm.ToolResult)
			if !ok || r.CallID != call.ID {
				continue
			}
			fmt.Fprintf(&b, "\nhad the result:\n%s", r.Content.Text())
			for _, c := range r.Content {
				if IsMedia(c) {
					media = append(media, c)
				}
			}
		}
	}
	return llm.User(b.String(), media...)
}

// PartName names a part that is left out.
func PartName(p llm.Part) string {
	switch p := p.(type) {
	case llm.Media:
		name := MediaName(p)
		return strings.ToLower(name[:1]) + name[1:]
	case llm.ToolResult:
		if i := slices.IndexFunc(p.Content, IsMedia); i >= 0 {
			return PartName(p.Content[i])
		}
		return "the result of " + p.Name
	}
	return "a part"
}
