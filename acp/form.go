package acp

import (
	"bytes"
	"encoding/json"
	"slices"

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
// properties, in which editors show them. What is no JSON is returned as it is.
func shownForm(form json.RawMessage) json.RawMessage {
	w := formWriter{form: form, decoder: json.NewDecoder(bytes.NewReader(form))}
	if err := w.value(""); err != nil {
		return form
	}
	return append(w.written, form[w.copied:]...)
}

// formWriter copies a form and replaces some of its strings.
type formWriter struct {
	form    []byte
	decoder *json.Decoder
	written []byte
	copied  int64 // of form
}

// value copies a value that has a key, or the key "" as an element of an array.
func (w *formWriter) value(key string) error {
	before := w.decoder.InputOffset()
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return w.members(token == '{')
	case string:
		if clean := visible(token); clean != token && (key == "title" || key == "description") {
			w.replace(before, clean)
		}
	}
	return nil
}

// members copies the members of an object or an array, and its end.
func (w *formWriter) members(object bool) error {
	for w.decoder.More() {
		key := ""
		if object {
			token, err := w.decoder.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string) // the decoder takes nothing else there
		}
		if err := w.value(key); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// replace writes another string for the one that was read last. Between it and the token before,
// which ends at an offset, are only spaces, a colon or a comma.
func (w *formWriter) replace(before int64, text string) {
	begin := before + int64(bytes.IndexByte(w.form[before:], '"'))
	quoted, _ := json.Marshal(text) // cannot fail
	w.written = append(append(w.written, w.form[w.copied:begin]...), quoted...)
	w.copied = w.decoder.InputOffset()
}
