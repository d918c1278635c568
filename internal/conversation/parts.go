package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/llm"
)

// mediaChars stands for the size of an image or another medium, whose tokens do not depend on its
// bytes. An image of a megapixel costs about as much.
const mediaChars = 6_000

// Chars returns the size of parts, in characters.
func Chars(parts llm.Parts) int {
	n := 0
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			n += utf8.RuneCountInString(p.Text)
		case llm.Thinking:
			n += utf8.RuneCountInString(p.Text)
		case llm.ToolCall:
			n += utf8.RuneCountInString(p.Args) + len(p.Name)
		case llm.ToolResult:
			n += Chars(p.Content)
		case llm.Opaque:
			n += len(p.Data) // what a search has found is large, and encrypted
		case llm.Media:
			n += mediaChars
		}
	}
	return n
}

// Text returns parts as text, without those that only a provider reads.
func Text(parts llm.Parts) string { return written(parts, "", math.MaxInt/4) }

// Transcript returns the texts, calls and results of parts, with a label for the texts. Most limits
// a call or a result, in bytes, and a text to four times as much.
func Transcript(parts llm.Parts, label string, most int) string {
	return written(slices.DeleteFunc(slices.Clone(parts), IsMedia), "["+label+"] ", most)
}

// written returns a line for each part that is not only for a provider, with a prefix for texts.
func written(parts llm.Parts, prefix string, most int) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			b.WriteString(prefix + Limited(p.Text, 4*most) + Limited(cited(p.Sources), most) + "\n")
		case llm.Opaque:
			if p.Search != nil {
				fmt.Fprintf(&b, "[%s]\n", p.Search)
			}
		case llm.ToolCall:
			fmt.Fprintf(&b, "[call %s] %s\n", p.Name, Limited(p.Args, most))
		case llm.ToolResult:
			fmt.Fprintf(&b, "[result of %s] %s\n", p.Name, Limited(p.Content.Text(), most))
		case llm.Media:
			fmt.Fprintf(&b, "[%s]\n", p.MIME)
		}
	}
	return b.String()
}

// cited returns a line for each page on the web that a text cites.
func cited(list []llm.Source) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("\n[source] " + s.String())
	}
	return b.String()
}

// UniqueCalls returns parts in which each tool call has an id of its own, because results are
// matched by id and servers repeat or omit them.
func UniqueCalls(parts llm.Parts) llm.Parts {
	seen, fixed := map[string]bool{}, slices.Clone(parts)
	for i, part := range fixed {
		call, ok := part.(llm.ToolCall)
		if !ok {
			continue
		}
		sent := call.ID
		for n := 2; call.ID == "" || seen[call.ID]; n++ {
			call.ID = fmt.Sprintf("%s_%d", cmp.Or(sent, "call"), n)
		}
		seen[call.ID], fixed[i] = true, call
	}
	return fixed
}

// IsMedia reports whether a part is a medium.
func IsMedia(p llm.Part) bool {
	_, is := p.(llm.Media)
	return is
}

// Canonical returns JSON without white space and with sorted members. Other text stays as it is.
func Canonical(args string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return args
	}
	text, _ := json.Marshal(value) // which never fails for what was JSON
	return string(text)
}

// IsOdd reports whether an API may reject a call for its form.
func IsOdd(c llm.ToolCall) bool {
	var object map[string]json.RawMessage
	return !names().MatchString(c.Name) || !c.Free && json.Unmarshal([]byte(c.Args), &object) != nil
}

// names matches the names that OpenAI takes, which are the shortest.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// BesideText returns parts that may go with a text to the model, as valid UTF-8 and with images as
// every vendor takes them.
func BesideText(parts llm.Parts) (fitted llm.Parts, err error) {
	for i, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
			fitted = append(fitted, p)
		case llm.Media:
			image, note, err := picture.Media(p)
			if err != nil {
				return nil, fmt.Errorf("the image in part %d beside the text is %w", i, err)
			}
			if note != "" {
				fitted = append(fitted, llm.Text{Text: "[" + note + "]"})
			}
			fitted = append(fitted, image)
		default:
			return nil, fmt.Errorf("part %d beside the text is of type %T; llm.Text and llm.Media go with a text", i,
				part)
		}
	}
	return fitted, nil
}

// Media returns the media of parts, with their data as far as room allows, in bytes.
func Media(content llm.Parts, room int) []llm.Media {
	var all []llm.Media
	for _, part := range content {
		if m, ok := part.(llm.Media); ok {
			if room -= len(m.Data); room < 0 {
				m.Data = nil
			}
			all = append(all, m)
		}
	}
	return all
}

// Arguments returns the arguments of a call as a JSON object.
func Arguments(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	raw, _ := json.Marshal(map[string]string{"_raw": text}) // which never fails for strings
	return raw
}
