package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Structured content is in the text that the model reads, once.
func TestU10_StructuredContent(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "odd", "giver")}})
	for _, c := range []struct {
		texts            []string
		structured, want string
	}{
		{nil, `{"id":7}`, `{"id":7}`},
		{[]string{"2 rows"}, `{"rows":[1,2]}`, "2 rows\n" + `{"rows":[1,2]}`},
		{[]string{"ok"}, `{"a":"<&>"}`, "ok\n" + `{"a":"<&>"}`},
		{[]string{"{\n \"b\": 1, \"a\": \"<&>\"}"}, `{"a":"<&>","b":1}`, "{\n \"b\": 1, \"a\": \"<&>\"}"},
		{[]string{`Here: {"a":1}.`}, `{"a":1}`, `Here: {"a":1}.`},
		{[]string{"hello\n"}, `{"result":"hello\n"}`, "hello\n"},
		{[]string{"hello"}, `{"content":"hello"}`, "hello"},
		{[]string{"hello"}, `{"content":"hello","more":1}`, "hello\n" + `{"content":"hello","more":1}`},
		{[]string{"5"}, `{"result":5}`, "5"},
		{[]string{"15"}, `{"result":5}`, "15\n" + `{"result":5}`},
		{[]string{"one", "2"}, `{"result":["one",2]}`, "one\n2"},
		{[]string{"one", "two"}, `{"result":["one",2]}`, "one\ntwo\n" + `{"result":["one",2]}`},
		{nil, `{"result":[]}`, `{"result":[]}`},
	} {
		content := []json.RawMessage{}
		for _, text := range c.texts {
			content = append(content, textPart(text))
		}
		result := fmt.Sprintf(`{"isError":true,"content":%s,"structuredContent":%s}`, encoded(content), c.structured)
		o := run(t.Context(), t, s, "mcp__odd__give", `{"result":`+result+`}`, tool.Call{})
		if got := o.Model.Text(); got != c.want || !o.IsError || string(o.Structured) != c.structured {
			t.Errorf("%s is shown as %q, want %q; structured %s", result, got, c.want, o.Structured)
		}
	}
}

// A result of very many texts is put together in memory that grows with its length only.
func TestU10_ManyTexts(t *testing.T) {
	const n = 5000
	result := &sdk.CallToolResult{StructuredContent: map[string]any{"rows": strings.Repeat("row ", n)}}
	for range n {
		result.Content = append(result.Content, &sdk.TextContent{Text: "some text"})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := resultOf(result)
	runtime.ReadMemStats(&after)
	want := strings.Repeat("some text\n", n) + string(got.Structured)
	if len(got.Content) != 1 || got.Content.Text() != want {
		t.Errorf("%d parts, %d bytes; want one of %d", len(got.Content), len(got.Content.Text()), len(want))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("%d bytes of text took %d bytes", len(want), used)
	}
}

// oddResults returns results that the SDK refuses, with what the model reads of them.
func oddResults() map[string]string {
	const after, afterIt = `,{"type":"text","text":"after"}],"structuredContent":{"n":1}}`, "\nafter\n" + `{"n":1}`
	left := func(kind string, size int) string {
		return fmt.Sprintf("[A part of the type %s, %d bytes of JSON, was left out: it is unknown or malformed.]", kind,
			size)
	}
	return map[string]string{
		`{"content":[{"type":"blob","data":"AAAA"}` + after:                             left("blob", 29) + afterIt,
		`{"content":[{"type":"a\nb"}` + after:                                           left("a b", 15) + afterIt,
		`{"content":[{"type":"image","data":"%%"}` + after:                              left("image", 28) + afterIt,
		`{"content":[{"type":"text","text":"before","annotations":7,"_meta":1}` + after: "before" + afterIt,
		`{"content":["a word",{"n":2},null` + after: "a word\n" + `{"n":2}` +
			afterIt,
		`{"content":"a word","structuredContent":{"n":1}}`: "a word\n" + `{"n":1}`,
		`{"content":{"type":"text","text":"alone"}}`:       "alone",
		`{"content":[{"type":"text","text":null}]}`: "The call succeeded and " +
			"returned nothing.",
		`{"toolResult":{"answer":42}}`: `{"answer":42}`,
		`{"content":[{"type":"text","text":"all is well"}],"_meta":"x","isError":0}`: "all is well",
		`{"content":[{"type":"text","text":"broken"}],"isError":"true"}`:             "broken",
	}
}

// A part that is unknown or malformed is a line of the result, and the others stay.
func TestU10_UnknownParts(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "odd", "giver")}})
	for result, want := range oddResults() {
		o := run(t.Context(), t, s, "mcp__odd__give", `{"result":`+result+`}`, tool.Call{})
		if got := o.Model.Text(); got != want || o.IsError != strings.Contains(result, `"true"`) {
			t.Errorf("%s is shown as %q, want %q; error %v", result, got, want, o.IsError)
		}
	}
	picture := fmt.Sprintf(`{"content":[{"type":"image","mimeType":"image/png","data":%s},{"type":"new"}]}`,
		encoded([]byte(png)))
	o := run(t.Context(), t, s, "mcp__odd__give", `{"result":`+picture+`}`, tool.Call{})
	if m, ok := o.Model[0].(llm.Media); !ok || string(m.Data) != png || o.IsError {
		t.Errorf("an image beside an unknown part is %+v", o.Model)
	}
}

// A remote server's results are decoded as those of a process are.
func TestU10_UnknownPartsOverHTTP(t *testing.T) {
	p := startPlain(t)
	p.Before = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		var call request
		if json.Unmarshal([]byte(body), &call) != nil || call.Method != "tools/call" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		result := fmt.Sprintf(`{"content":[{"type":"new"},%s]}`, textPart("after"))
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"result":%s}`, call.ID, result)
		if err != nil {
			t.Error(err)
		}
		return true
	}
	server := p.server()
	server.Required = true
	s := ready(t, Options{Servers: []Server{server}})
	o := run(t.Context(), t, s, "mcp__plain__whoami", `{}`, tool.Call{})
	want := "[A part of the type new, 14 bytes of JSON, was left out: it is unknown or malformed.]\nafter"
	if got := o.Model.Text(); got != want || o.IsError {
		t.Errorf("the result is %q, want %q; error %v", got, want, o.IsError)
	}
}
