package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const form = `{"type":"object","properties":{"name":{"type":"string","title":"Your name","minLength":1},"age":{"type":"integer"},
	"team":{"type":"string","enum":["red","blue"],"enumNames":["Red","Blue"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]}`

// An answer fits the form before a tool sees it: small differences are coerced, others are reported
// to the person.
func TestJ6_AnswersFitTheForm(t *testing.T) {
	filled := func(content string) Answer { return Answer{Content: json.RawMessage(content)} }
	for _, c := range []struct {
		form    string
		answer  Answer
		want    Answer
		problem string
	}{
		{"", Answer{Text: "yes"}, Answer{Text: "yes"}, ""},
		{"", Answer{}, Answer{}, ""},
		{"", filled(`{"name":"x"}`), Answer{}, "no form"},
		{"", Answer{Action: ActionDecline, Text: "not now"}, Answer{Action: ActionDecline, Text: "not now"}, ""},
		{form, filled(`{"name":"x","age":41,"team":"red"}`), filled(`{"name":"x","age":41,"team":"red"}`), ""},
		{form, filled(`{"name":"x","age":"41","team":null}`), filled(`{"age":41,"name":"x"}`), ""},
		{form, Answer{Text: ` {"name": "x"} `}, filled(`{"name":"x"}`), ""},
		{form, Answer{Text: "x"}, Answer{}, "JSON object"},
		{form, Answer{Text: "[1]"}, Answer{}, "JSON object"},
		{form, Answer{}, Answer{}, `field "name" is missing`},
		{form, filled(`{"name":""}`), Answer{}, "the minimum is 1"},
		{form, filled(`{"name":"x","team":"green"}`), Answer{}, `field "team" must be one of "red", "blue"`},
		{form, filled(`{"name":`), Answer{}, "JSON object"},
		{form, Answer{Action: ActionCancel, Content: json.RawMessage(`{}`)}, Answer{Action: ActionCancel}, ""},
		{form, Answer{Action: "accept"}, Answer{}, "no action"},
	} {
		q := Question{Form: json.RawMessage(c.form)}
		if c.form == "" {
			q.Form = nil
		}
		check, err := q.Checker()
		if err != nil {
			t.Fatal(err)
		}
		got, err := check(c.answer)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (problem == "") != (c.problem == "") ||
			!strings.Contains(problem, c.problem) {
			t.Errorf("%+v: %q, want %q%s", c.answer, problem, c.problem, diff)
		}
	}
	for _, broken := range []string{`{}`, `[]`, `{`, `{"type":"string"}`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`} {
		if _, err := (&Question{Form: json.RawMessage(broken)}).Checker(); err == nil || !strings.Contains(err.Error(),
			"form") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

// If a person declines or cancels, the model is told how to go on.
func TestJ6_AnswersInWords(t *testing.T) {
	for _, c := range []struct {
		answer Answer
		words  []string
	}{
		{Answer{Text: "yes"}, []string{"yes"}},
		{Answer{Content: json.RawMessage(`{"a":1}`)}, []string{`{"a":1}`}},
		{Answer{Action: ActionDecline, Text: "too private"},
			[]string{"declined", "Do not ask it again", "too private"}},
		{Answer{Action: ActionCancel}, []string{"closed", "without answering"}},
	} {
		for _, word := range c.words {
			if !strings.Contains(c.answer.String(), word) {
				t.Errorf("%+v is %q, without %q", c.answer, c.answer, word)
			}
		}
	}
	if names := []string{ActionAccept.String(), ActionDecline.String(), ActionCancel.String()}; strings.Join(names,
		" ") != "accept decline cancel" {
		t.Errorf("the actions are %q", names)
	}
}
