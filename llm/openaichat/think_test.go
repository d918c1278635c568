package openaichat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// shown decodes pieces of content, and perhaps a call, and returns the parts and what was streamed.
func shown(t *testing.T, pieces []string, call bool) (parts, streamed string) {
	t.Helper()
	d := newDecoder("p", "m", nil, nil)
	deltas := make([]string, 0, len(pieces)+1)
	for _, piece := range pieces {
		text, err := json.Marshal(piece)
		if err != nil {
			t.Fatal(err)
		}
		deltas = append(deltas, fmt.Sprintf(`{"content":%s}`, text))
	}
	if call {
		deltas = append(deltas, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}`)
	}
	var b strings.Builder
	take := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range d.Out() {
			switch ev.Type {
			case llm.EventTextDelta:
				b.WriteString(ev.Delta)
			case llm.EventThinkingDelta:
				b.WriteString(strings.ToUpper(ev.Delta))
			}
		}
	}
	for _, delta := range append(deltas, `{},"finish_reason":"stop"`) {
		_, err := d.Step([]byte(`{"id":"c","choices":[{"delta":` + delta + `}]}`))
		take(err)
	}
	_, err := d.End(true)
	take(err)
	for _, part := range d.Finish().Response.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			parts += part.Text
		case llm.Thinking:
			if part.ID != "" {
				t.Errorf("the thinking would go back in %s", part.ID)
			}
			parts += strings.ToUpper(part.Text)
		}
	}
	return parts, b.String()
}

// Thinking that a server leaves in the text is thinking, however it is cut into pieces.
func TestX7_ThinkTagsAreThinking(t *testing.T) {
	for text, want := range map[string]string{
		"<think>\nhm </th\n</think>\n\nyes":   "HM </TH\nyes",
		"\n <think>hm</think>yes":             "HMyes",
		"<think>\n\n</think>\n\nyes <think>b": "yes <think>b",
		"<think>never closed </thin":          "NEVER CLOSED </THIN",
		" <thin ice":                          " <thin ice",
		"<thi":                                "<thi",
		"yes <think>hm</think>":               "yes <think>hm</think>",
		strings.Repeat(" ", 99) + "<think>":   strings.Repeat(" ", 99) + "<think>",
	} {
		var single []string
		for i := range text {
			single = append(single, text[i:i+1])
		}
		ways := [][]string{{text}, single}
		for i := range text {
			ways = append(ways, []string{text[:i], text[i:]})
		}
		for _, pieces := range ways {
			for _, call := range []bool{false, true} {
				if parts, streamed := shown(t, pieces, call); parts != want || streamed != want {
					t.Errorf("%q, a call %v: %q, streamed %q, want %q", pieces, call, parts, streamed, want)
				}
			}
		}
	}
}
