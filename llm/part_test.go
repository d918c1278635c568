package llm_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
)

// text returns a generator of valid UTF-8 with characters that JSON and HTML escape.
func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String().Filter(utf8.ValidString),
		rapid.SampledFrom([]string{"", "<b>&\u2028\u2029\"\\\x00\x7f\ufffd😀", `{"text":{"text":"x"}}`, "null"}))
}

func leaf() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		draw := func(name string) string { return text().Draw(t, name) }
		yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return llm.Text{Text: draw("text"), Signature: draw("signature")}
		case 1:
			return llm.Media{MIME: draw("mime"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), URL: draw("url"),
				Name: draw("name"), Detail: draw("detail")}
		case 2:
			return llm.Thinking{Text: draw("text"), Signature: draw("signature"), Redacted: yes("redacted"),
				ID: draw("id")}
		case 3:
			return llm.ToolCall{ID: draw("id"), Name: draw("name"), Args: draw("args"), Free: yes("free"),
				Signature: draw("signature")}
		}
		return llm.Opaque{Provider: draw("provider"), Data: draw("data")}
	})
}

func part() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		if rapid.IntRange(0, 4).Draw(t, "nested") > 0 {
			return leaf().Draw(t, "part")
		}
		return llm.ToolResult{CallID: text().Draw(t, "call"), Name: text().Draw(t, "name"),
			Content: rapid.SliceOf(leaf()).Draw(t, "content"),
			IsError: rapid.Bool().Draw(t, "error"), Free: rapid.Bool().Draw(t, "free")}
	})
}

// Text must survive byte for byte, so that a journal returns what was sent.
func TestPartsJSONIsLossless(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		want := llm.Message{Role: llm.RoleAssistant, Provider: "p", Model: "m",
			Parts: rapid.SliceOf(part()).Draw(t, "parts")}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got llm.Message
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(data) {
			t.Fatalf("%v\n%s\n%s", err, data, again)
		}
	})
}

func TestPartsJSONForm(t *testing.T) {
	parts := llm.Parts{llm.Text{Text: "hi <b>"}, llm.ToolResult{CallID: "c", Content: llm.TextParts("ok")}}
	data, err := parts.MarshalJSON()
	if want := `[{"text":{"text":"hi <b>"}},{"tool_result":{"call_id":"c","content":[{"text":{"text":"ok"}}]}}]`; err != nil || string(data) != want {
		t.Errorf("%v\n got %s\nwant %s", err, data, want)
	}
	for _, tt := range []struct {
		parts llm.Parts
		json  string
	}{{nil, "null"}, {llm.Parts{}, "[]"}} {
		data, err := json.Marshal(tt.parts)
		if err != nil || string(data) != tt.json {
			t.Errorf("%#v: %s, %v", tt.parts, data, err)
		}
		back := llm.Parts{llm.Text{}}
		if err := json.Unmarshal(data, &back); err != nil || (back == nil) != (tt.parts == nil) || len(back) != 0 {
			t.Errorf("%s became %#v, %v", data, back, err)
		}
	}
}

func TestPartsJSONErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		parts llm.Parts
		says  string
	}{
		"nil":              {llm.Parts{llm.Text{}, nil}, "part 1: llm: nil part"},
		"pointer":          {llm.Parts{&llm.Text{Text: "x"}}, "part 0: llm: part of type *llm.Text"},
		"pointer, nested":  {llm.Parts{llm.ToolResult{Content: llm.Parts{&llm.Media{}}}}, "part of type *llm.Media"},
		"nil in a pointer": {llm.Parts{(*llm.ToolCall)(nil)}, "part of type *llm.ToolCall"},
	} {
		if _, err := json.Marshal(tt.parts); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for data, says := range map[string]string{
		`[{"text":{"text":"a"}},{"video":{}}]`: `part 1: unknown kind "video"`,
		`[{"text":{},"media":{}}]`:             "part 0 has 2 kinds",
		`[{}]`:                                 "part 0 has 0 kinds",
		`[null]`:                               "part 0 has 0 kinds",
		`[{"text":{"text":1}}]`:                "llm: parts",
		`[{"tool_result":{"content":[{"sound":{}}]}}]`: `unknown kind "sound"`,
		`{"text":{}}`: "llm: parts",
		`[{"media":{"mime":"image/png","data":"%%%"}}]`: "llm: parts",
	} {
		var p llm.Parts
		if err := json.Unmarshal([]byte(data), &p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestAC8_3_PartsAccessors(t *testing.T) {
	call := llm.ToolCall{ID: "1", Name: "look"}
	other := llm.ToolCall{ID: "2", Name: "look"}
	parts := llm.Parts{llm.Thinking{Text: "hm, "}, llm.Text{}, llm.Text{Text: "a"}, call, llm.Thinking{Text: "yes"},
		llm.Text{Text: "b"}, llm.ToolResult{Content: llm.TextParts("not mine")}, other, llm.Text{Text: "c"}}
	resp := llm.Response{Message: llm.Message{Parts: parts}}
	if got := resp.Text(); got != "abc" {
		t.Errorf("text %q", got)
	}
	if got := resp.Reasoning(); got != "hm, yes" {
		t.Errorf("reasoning %q", got)
	}
	if diff := cmp.Diff([]llm.ToolCall{call, other}, resp.ToolCalls()); diff != "" {
		t.Error(diff)
	}
	if none := (llm.Parts{}); none.Text() != "" || none.ToolCalls() != nil || none.Reasoning() != "" {
		t.Error("something in nothing")
	}
}
