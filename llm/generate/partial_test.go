package generate

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

func TestComplete(t *testing.T) {
	for text, want := range map[string]string{
		``:                     "",
		` `:                    "",
		`{`:                    `{}`,
		`{"a`:                  `{}`,
		`{"a"`:                 `{}`,
		`{"a":`:                `{}`,
		`{"a": "`:              `{"a": ""}`,
		`{"a": "b`:             `{"a": "b"}`,
		`{"a": "b\`:            `{"a": "b"}`,
		`{"a": "b\n`:           `{"a": "b"}`,
		`{"a": "b\nc`:          `{"a": "b\nc"}`,
		`{"a": "b\"`:           `{"a": "b"}`,
		`{"a": "b\\"`:          `{"a": "b\\"}`,
		`{"a": "\ud83d`:        `{"a": ""}`,
		`{"a": "\ud83d\ude0`:   `{"a": ""}`,
		`{"a": "\ud83d\ude00"`: `{"a": "\ud83d\ude00"}`,
		`{"a": 1`:              `{}`,
		`{"a": 1,`:             `{"a": 1}`,
		`{"a": 1 `:             `{"a": 1}`,
		`{"a": tru`:            `{}`,
		`{"a": true}`:          `{"a": true}`,
		`[[1,[2,{"a":[`:        `[[1,[2,{"a":[]}]]]`,
		`[{"a":"}]"},`:         `[{"a":"}]"}]`,
		`[1]]`:                 "",
		`{"a":1]`:              "",
		`Sure: {"a":1}`:        "",
		`"text`:                "",
	} {
		got, ok := complete(text)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func value() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return draw(t, 3) })
}

func draw(t *rapid.T, depth int) any {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`a "b" \ {[`, "😀\n\t\u2028", ""}))
	switch rapid.IntRange(0, 3+min(depth, 2)).Draw(t, "kind") {
	case 0:
		return text.Draw(t, "text")
	case 1:
		return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list = append(list, draw(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		object[text.Draw(t, "name")] = draw(t, depth-1)
	}
	return object
}

// Every beginning of JSON becomes JSON that claims nothing beyond the whole.
func TestG9_CompleteIsJSONAndHonest(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		whole := map[string]any{"v": value().Draw(t, "value")}
		data, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if rapid.Bool().Draw(t, "escaped") { // as some models write it
			text = strings.ReplaceAll(text, "😀", `\ud83d\ude00`)
		}
		for end := range text {
			got, ok := complete(text[:end])
			if ok != (end > 0) {
				t.Fatalf("%s: %v", text[:end], ok)
			}
			if !ok {
				continue
			}
			var part any
			if err := json.Unmarshal([]byte(got), &part); err != nil {
				t.Fatalf("%s became %s: %v", text[:end], got, err)
			}
			if !within(part, whole) {
				t.Fatalf("%s became %s", text[:end], got)
			}
		}
		if got, _ := complete(text); got != text {
			t.Fatalf("%s became %s", text, got)
		}
	})
}

// within reports whether a is b or a beginning of it.
func within(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && strings.HasPrefix(b, a)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) > len(b) {
			return false
		}
		for i := range a {
			if !within(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !within(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}
