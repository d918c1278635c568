package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/tool"
)

// A person at a terminal can answer a question, fill in a form line by line, decline a form, or
// skip a question.
func TestJ6_QuestionsAtTheTerminal(t *testing.T) {
	const form = `{"type":"object","properties":{"nick":{"type":"string"},"age":{"type":"integer","title":"Your age","description":"in years"},
		"team":{"type":"string","enum":["red","blue"]}},"required":["age"]}`
	for name, c := range map[string]struct {
		question tool.Question
		typed    string
		want     tool.Answer
		shown    []string
	}{
		"text": {tool.Question{Text: "Which?"}, "the second\n", tool.Answer{Text: "the second"},
			[]string{"The agent asks: Which?"}},
		"number":  {tool.Question{Options: []string{"a", "b"}}, "2\n", tool.Answer{Text: "b"}, []string{"2. b"}},
		"nothing": {tool.Question{Text: "Which?"}, "\n", tool.Answer{Action: tool.ActionCancel}, nil},
		"form": {tool.Question{Form: json.RawMessage(form), Source: "reg\x1b[2Jistry", Problem: "it was wrong"},
			"41\n\nred\n",
			tool.Answer{Content: json.RawMessage(`{"age":41,"team":"red"}`)},
			[]string{`reg\u{1b}[2Jistry asks`, "does not fit: it was wrong", "Your age (in years, integer, required)",
				"team (red, blue)"}},
		"declined": {tool.Question{Form: json.RawMessage(form)}, "41\n/decline\n",
			tool.Answer{Action: tool.ActionDecline}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var shown bytes.Buffer
			answer, err := newConsole(strings.NewReader(c.typed), &shown).reply(context.Background(), c.question)
			if err != nil {
				t.Fatal(err)
			}
			check, err := c.question.Checker()
			if err != nil {
				t.Fatal(err)
			}
			answer, err = check(answer)
			if diff := cmp.Diff(c.want, answer); err != nil || diff != "" {
				t.Errorf("error %v; difference from the wanted answer: %s", err, diff)
			}
			for _, text := range c.shown {
				if !strings.Contains(shown.String(), text) {
					t.Errorf("%q is not in %q", text, &shown)
				}
			}
		})
	}
}
