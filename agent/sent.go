package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// sent returns a turn's message as requests to the current model have it.
func (s *State) sent(turn int) llm.Message {
	t := &s.Turns[turn]
	m := s.mended[s.askedModel()]
	switch whole := m.Places[mendedPlace{t.Number, wholeTurn}]; {
	case len(m.Places) == 0:
		return t.Message
	case whole && t.Kind == TurnToolResults && turn > 0:
		return toldCalls(s.Turns[turn-1].Message, t.Message)
	case whole:
		return toldAnswer(t.Message)
	}
	message, changed := t.Message, false
	for i, part := range t.Message.Parts {
		if !m.Places[mendedPlace{t.Number, i}] {
			continue
		}
		if !changed {
			message.Parts, changed = slices.Clone(message.Parts), true
		}
		message.Parts[i] = placeholder(part)
	}
	return message
}

const leftOutHere = "[%s was here. It is left out, because the model's provider has rejected it.]"

// toldAsText begins the text of calls.
const toldAsText = "[The model's provider has rejected the form of these calls, so they are told as text. " +
	"Go on calling tools as usual.]"

// placeholder returns what the model reads in place of a part.
func placeholder(part llm.Part) llm.Part {
	switch p := part.(type) {
	case llm.Media:
		return llm.Text{Text: fmt.Sprintf(leftOutHere, mediaName(p))}
	case llm.ToolResult:
		content := slices.Clone(p.Content)
		replaced := false
		for i, c := range content {
			if isMedia(c) {
				content[i], replaced = placeholder(c), true
			}
		}
		if !replaced {
			content = llm.TextParts(fmt.Sprintf(leftOutHere, "The result of this call"))
		}
		p.Content = content
		return p
	}
	return part
}

// mediaName names a medium by its type and size.
func mediaName(m llm.Media) string {
	what := "A document"
	if strings.HasPrefix(m.MIME, "image/") {
		what = "An image"
	}
	if m.URL != "" {
		return fmt.Sprintf("%s (%s)", what, m.MIME)
	}
	return fmt.Sprintf("%s (%s, %d KB)", what, m.MIME, (len(m.Data)+1023)>>10)
}

// toldAnswer returns the text of an answer alone. Its calls are told with their results.
func toldAnswer(m llm.Message) llm.Message {
	text := m.Parts.Text()
	if strings.TrimSpace(text) == "" {
		text = "(Calls only; they are told below.)"
	}
	return llm.Assistant(text)
}

// toldCalls returns the calls of an answer and their results as text, each call with its result.
func toldCalls(answer, results llm.Message) llm.Message {
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
				if isMedia(c) {
					media = append(media, c)
				}
			}
		}
	}
	return llm.User(b.String(), media...)
}
