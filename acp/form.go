package acp

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// formOf returns the form of a question without one: a choice if answers are suggested, and a text.
func formOf(options []string) json.RawMessage {
	properties := map[string]any{"answer": map[string]any{"type": "string", "title": "Answer"}}
	if len(options) > 0 {
		properties["choice"] = map[string]any{"type": "string", "title": "Choice", "enum": shownOptions(options)}
		properties["answer"] = map[string]any{"type": "string", "title": "Or another answer"}
	}
	form, _ := json.Marshal(map[string]any{"type": "object", "properties": properties}) // cannot fail
	return form
}

// shownOptions returns suggested answers as a person reads them.
func shownOptions(options []string) []string {
	shown := make([]string, len(options))
	for i, option := range options {
		shown[i] = visible(option)
	}
	return shown
}

// chosen returns the suggested answer that was shown as a text, or the text if it is none of them.
func chosen(options []string, text string) string {
	if i := slices.Index(shownOptions(options), text); i >= 0 {
		return options[i]
	}
	return text
}

// visible returns a text with escapes for what a person would not see.
func visible(text string) string { return sanitize.Blanks(sanitize.Text(text)) }

// shownForm returns a form with escapes in its titles and descriptions for what a person would not
// see. Values stay as they are, since the answer must have them, and so does the order of the
// properties, in which editors show them. What cannot be read becomes a form without properties.
func shownForm(form json.RawMessage) json.RawMessage {
	value, err := texts.ReadJSON(form)
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return shownValue("", &value)
}

// shownValue returns a value of a form, which has a key if it is a member of an object.
func shownValue(key string, value *texts.JSON) json.RawMessage {
	var inside [][]byte
	for i := range value.Members {
		m := &value.Members[i]
		name, _ := json.Marshal(m.Name) // cannot fail
		inside = append(inside, slices.Concat(name, []byte(":"), shownValue(m.Name, &m.JSON)))
	}
	for i := range value.Items {
		inside = append(inside, shownValue("", &value.Items[i]))
	}
	text, isText := value.Value.(string)
	switch list := bytes.Join(inside, []byte(",")); {
	case value.Kind == texts.Object:
		return slices.Concat([]byte("{"), list, []byte("}"))
	case value.Kind == texts.Array:
		return slices.Concat([]byte("["), list, []byte("]"))
	case isText && (key == "title" || key == "description") && visible(text) != text:
		quoted, _ := json.Marshal(visible(text)) // cannot fail
		return quoted
	}
	return value.Raw
}
