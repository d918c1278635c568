package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// One part of a resource or a prompt that is unknown or malformed does not cost the others.
func TestU10_UnknownPartsOfResourcesAndPrompts(t *testing.T) {
	for result, want := range map[string]string{
		`{"contents":[{"uri":"a","text":"one"},{"uri":"b","blob":"not base64!"},{"uri":"c","text":{"new":1}},7]}`: "a one|" +
			"b [A part of 32 bytes of JSON was left out: it is unknown or malformed.]|" +
			"c [A part of 28 bytes of JSON was left out: it is unknown or malformed.]|" +
			" [A part of 1 bytes of JSON was left out: it is unknown or malformed.]",
		`{"contents":[{"uri":"a","blob":"aGk=","size":"big"},{"uri":3,"text":"two"}]}`: "a hi| two",
		`{"contents":[{"uri":"a","text":"as it is"}],"_meta":{"x":1}}`:                 "a as it is",
	} {
		var got sdk.ReadResourceResult
		if err := json.Unmarshal(decodable(json.RawMessage(result)), &got); err != nil {
			t.Errorf("%s: %v", result, err)
			continue
		}
		var parts []string
		for _, c := range got.Contents {
			parts = append(parts, c.URI+" "+c.Text+string(c.Blob))
		}
		if text := strings.Join(parts, "|"); text != want {
			t.Errorf("%s: %s, want %s", result, text, want)
		}
	}
	for result, want := range map[string]string{
		`{"messages":[{"role":"assistant","content":{"type":"text","text":"one"}},{"role":1,"content":{"type":"new"}},"two"]}`: "assistant one|" +
			"user [A part of the type new, 14 bytes of JSON, was left out: it is unknown or malformed.]|user two",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]}`: "user one|user two",
	} {
		var got sdk.GetPromptResult
		if err := json.Unmarshal(decodable(json.RawMessage(result)), &got); err != nil {
			t.Errorf("%s: %v", result, err)
			continue
		}
		var parts []string
		for _, m := range got.Messages {
			text, _ := m.Content.(*sdk.TextContent)
			if text == nil {
				t.Fatalf("%s: %+v", result, m)
			}
			parts = append(parts, string(m.Role)+" "+text.Text)
		}
		if text := strings.Join(parts, "|"); text != want {
			t.Errorf("%s: %s, want %s", result, text, want)
		}
	}
	for _, result := range []string{`{"content":[{"type":"text","text":"x"}],"structuredContent":{"contents":[1],"messages":2}}`, `{"tools":[]}`} {
		if got := decodable(json.RawMessage(result)); string(got) != result {
			t.Errorf("%s has become %s", result, got)
		}
	}
}

// A malformed entry of a list does not cost the others.
func TestU10_MalformedEntriesOfLists(t *testing.T) {
	const list = `[{"name":"look","description":5,"annotations":{"readOnlyHint":"yes"},"inputSchema":{"type":"object"}},` +
		`{"name":5,"inputSchema":{}},null,"x",[],{"name":"go","title":"Go","inputSchema":{}}]`
	var got sdk.ListToolsResult
	if err := json.Unmarshal(decodable(json.RawMessage(`{"tools":`+list+`,"nextCursor":"2"}`)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != 2 || got.NextCursor != "2" {
		t.Fatalf("%d tools, then %q", len(got.Tools), got.NextCursor)
	}
	if look := got.Tools[0]; look.Name != "look" || look.Description != "" || look.Annotations != nil ||
		look.InputSchema == nil {
		t.Errorf("%+v", look)
	}
	if other := got.Tools[1]; other.Name != "go" || other.Title != "Go" {
		t.Errorf("%+v", other)
	}
	for _, kind := range []string{"prompts", "resources", "resourceTemplates"} {
		var names struct{ Prompts, Resources, ResourceTemplates []struct{ Name string } }
		if err := json.Unmarshal(decodable(json.RawMessage(`{"`+kind+`":`+list+`}`)), &names); err != nil {
			t.Fatal(err)
		}
		all := append(append(names.Prompts, names.Resources...), names.ResourceTemplates...)
		if len(all) != 2 || all[0].Name != "look" || all[1].Name != "go" {
			t.Errorf("%s: %v", kind, all)
		}
	}
}
