package acp

import "testing"

// What a server says in a form is shown with escapes. Its values and the order of its properties
// are as they were.
func TestU20_TextsOfForms(t *testing.T) {
	for form, want := range map[string]string{
		`{"properties":{"b":{"title":"B\u2800","enum":["x\u2800"]},"a":{"description": "\u202e\"A\"" , "default":"y\u2800"}}}`: `{"properties":` +
			`{"b":{"title":"B\\u{2800}","enum":["x\u2800"]},"a":{"description":"\\u{202e}\"A\"","default":"y\u2800"}}}`,
		`{"properties":{"title":{"type":"string","description":"d"},"description":{"const":"\u2800"}}}`: `{"properties":` +
			`{"title":{"type":"string","description":"d"},"description":{"const":"\u2800"}}}`,
		`{"oneOf":[{"const":"\u2800","title":"\u2800"},"title","\u2800",1,null]}`: `{"oneOf":[{"const":"\u2800","title":"\\u{2800}"},"title","\u2800",1,null]}`,
		`{"title":"\u2800"`: `{"type":"object","properties":{}}`,
	} {
		if got := string(shownForm([]byte(form))); got != want {
			t.Errorf("%s\nbecomes %s\n   want %s", form, got, want)
		}
	}
}
