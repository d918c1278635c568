package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/tool"
)

func TestM1_Schemas(t *testing.T) {
	nested := strings.Repeat(`{"type":"array","items":`, 60) + `{"type":"string"}` + strings.Repeat("}", 60)
	for _, c := range []struct{ name, in, want string }{
		{"no type", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"nothing", `{}`, `{"properties":{},"type":"object"}`},
		{"null", `null`, `{"properties":{},"type":"object"}`},
		{"true", `true`, `{"properties":{},"type":"object"}`},
		{"the root may be null", `{"type":["object","null"]}`, `{"properties":{},"type":"object"}`},
		{"anyOf at the root", `{"type":"object","properties":{"k":{"type":"string"}},"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a","k"],"additionalProperties":false},` +
			`{"properties":{"a":{"type":"integer"},"b":{}},"required":["b","k"],"additionalProperties":false}]}`,
			`{"additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{},"k":{"type":"string"}},"required":["k"],"type":"object"}`},
		{"oneOf at the root", `{"oneOf":[{"properties":{"a":{"type":"string","description":"An a."}}},{"type":"object","properties":{"b":{"type":"integer"}}},{"type":"string"}]}`,
			`{"properties":{"a":{"description":"An a. In one form of the arguments: {\"description\":\"An a.\",\"type\":\"string\"}"},"b":{"description":"In one form of the arguments: {\"type\":\"integer\"}"}},"type":"object"}`},
		{"allOf at the root", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/definitions/b"}],"definitions":{"b":{"properties":{"b":{"const":1}},"required":["b"]}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"enum":[1]}},"required":["a","b"],"type":"object"}`},
		{"draft 3 and 4", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.test/s","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"required":true},"m":{"maximum":9,"exclusiveMaximum":false}}}`,
			`{"properties":{"m":{"maximum":9},"n":{"minimum":0,"type":"number"}},"type":"object"}`},
		{"draft 7", `{"type":"object","properties":{"t":{"type":"array","items":[{"type":"string"},{"type":"number"}],"maxItems":2},"u":{"type":"array","items":[{"type":"string"}]},"v":{"type":"array","items":[{"type":"string"}],"additionalItems":false}},"dependencies":{"t":["u"]}}`,
			`{"properties":{"t":{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"maxItems":2,"type":"array"},"u":{"items":{},"type":"array"},"v":{"items":{"type":"string"},"maxItems":1,"type":"array"}},"type":"object"}`},
		{"draft 2019", `{"type":"object","properties":{"c":{"$recursiveRef":"#"}}}`,
			`{"properties":{"c":{}},"type":"object"}`},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a","description":"Mine.","type":"never"},"far":{"$ref":"https://x.test/s.json"},"lost":{"$ref":"#/$defs/b"},"anchor":{"$ref":"#c"},"slash":{"$ref":"#/$defs/x~1y%20z"}},"$defs":{"a":{"type":"string","description":"Theirs."},"x/y z":{"type":"null"}}}`,
			`{"properties":{"a":{"description":"Mine.","type":"string"},"anchor":{},"far":{},"lost":{},"slash":{"type":"null"}},"type":"object"}`},
		{"a tree", `{"type":"object","properties":{"node":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}},"required":["next"]}}}`,
			`{"properties":{"node":{"properties":{"next":{"type":"object"}},"required":["next"],"type":"object"}},"type":"object"}`},
		{"the root again", `{"$ref":"#"}`, `{"properties":{},"type":"object"}`},
		{"another base", `{"type":"object","properties":{"a":{"$id":"http://x.test/a","properties":{"b":{"$ref":"#/properties/a"}}}}}`, `{"properties":{"a":{"properties":{"b":{}}}},"type":"object"}`},
		{"patterns", `{"type":"object","properties":{"a":{"pattern":"^(?!x)"},"b":{"pattern":"^[a-z]+$"},"c":{"pattern":"("},"d":{"pattern":"\\s"}}}`,
			`{"properties":{"a":{"description":"Pattern: ^(?!x)"},"b":{"description":"Pattern: ^[a-z]+$"},"c":{"description":"Pattern: ("},"d":{"description":"Pattern: \\s"}},"type":"object"}`},
		{"nullable", `{"type":"object","properties":{"a":{"type":"string","enum":["x"],"nullable":true},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":5},"c":{"type":["string"]}}}`,
			`{"properties":{"a":{"enum":["x",null],"type":["string","null"]},"b":{"default":5,"type":["integer","null"]},"c":{"type":"string"}},"type":"object"}`},
		{"values of other types", `{"type":"object","properties":{"a":{"type":"null","enum":["x"]},"b":{"type":["string","null"],"enum":["x",1,null]},"c":{"type":"array","enum":[0,1],"items":{"type":"integer"}},"d":{"type":"integer","enum":[1,1.5,2]}}}`,
			`{"properties":{"a":{"type":"null"},"b":{"enum":["x",null],"type":["string","null"]},"c":{"items":{"type":"integer"},"type":"array"},"d":{"enum":[1,2],"type":"integer"}},"type":"object"}`},
		{"unknown types and formats",
			`{"type":"object","properties":{"a":{"type":"any"},"b":{"type":"file","format":"binary"},"c":{"format":"date-time"},"d":{"type":5},"e":"string","f":false}}`,
			`{"properties":{"a":{},"b":{},"c":{"format":"date-time"},"d":{},"e":{}},"type":"object"}`},
		{"what gets stricter", `{"type":"object","not":{"required":["z"]},"if":{},"then":{"required":["a"]},"patternProperties":{"^x":{}},"additionalProperties":false,"properties":{"a":{"multipleOf":0.1,"minLength":2.0,"maxLength":-1}}}`,
			`{"properties":{"a":{"minLength":2}},"type":"object"}`},
		{"names of properties", `{"type":"object","properties":{"a b":{"type":"string"},"$filter":{},"ok":{}},"required":["a b","ok","other"],"additionalProperties":false}`,
			`{"description":"It also takes \"$filter\", \"a b\".","properties":{"ok":{},"other":{}},"required":["ok","other"],"type":"object"}`},
		{"arrays without items", `{"type":"object","properties":{"a":{"type":"array"}}}`,
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{"escapes", `{"type":"object","description":"\u001b[31mred\u200b","properties":{"a":{"description":"\ufffdx"}}}`, `{"description":"\\u{1b}[31mred\\u{200b}","properties":{"a":{"description":"�x"}},"type":"object"}`},
		{"deep", `{"type":"object","properties":{"a":` + nested + `}}`,
			`{"properties":{"a":` + strings.Repeat(`{"items":`, 31) + `{"items":{},"type":"array"}` +
				strings.Repeat(`,"type":"array"}`, 31) + `},"type":"object"}`},
	} {
		got, err := parameters(json.RawMessage(c.in), new(int))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
	for _, c := range [][2]string{{`{"type":"string"}`, "a value of type"}, {`false`, "no arguments"},
		{`"x"`, `not an object: "x"`}, {`[]`, "not an object: []"}, {`5`, "not an object: 5"}} {
		if got, err := parameters(json.RawMessage(c[0]), new(int)); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %s, %v", c[0], got, err)
		}
	}
	if _, err := parameters(func() {}, new(int)); err == nil {
		t.Error("a function is no schema")
	}
}

// Large schemas lose their texts first, and then everything. References that double with each level
// end at a bound.
func TestM1_LargeSchemas(t *testing.T) {
	t.Parallel()
	many := func(text string, n int) map[string]any {
		properties := map[string]any{}
		for i := range n {
			properties[fmt.Sprint("p", i)] = map[string]any{"type": "string", "description": text}
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	if got, err := parameters(many(strings.Repeat("long ", 100), 1000), new(int)); err != nil ||
		!strings.Contains(string(got),
			`"p999":{"type":"string"}`) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := parameters(many("x", 20_000), new(int)); err != nil ||
		string(got) != `{"properties":{},"type":"object"}` {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	branches := map[string]any{"properties": map[string]any{"own": map[string]any{}}}
	for i := range maxBranches + 1 {
		list, _ := branches["anyOf"].([]any)
		branches["anyOf"] = append(list, map[string]any{"required": []any{fmt.Sprint("p", i)}})
	}
	if got, err := parameters(branches, new(int)); err != nil ||
		string(got) != `{"properties":{"own":{}},"type":"object"}` {
		t.Errorf("%s, %v", got, err)
	}
	bomb := map[string]any{}
	for i := range 40 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		bomb[fmt.Sprint("d", i)] = map[string]any{"type": "object",
			"properties": map[string]any{"a": next, "b": next, "c": next}}
	}
	if got, err := parameters(map[string]any{"$ref": "#/$defs/d0", "$defs": bomb}, new(int)); err != nil ||
		len(got) > maxSchema {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Very many schemas that a value has to fit are joined in memory that grows with their number only.
func TestM1_ManyDemands(t *testing.T) {
	const n = 2000
	var all []any
	for i := range n {
		name := fmt.Sprint("p", i)
		all = append(all, map[string]any{"properties": map[string]any{name: map[string]any{}},
			"required": []any{"always", name}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := (&rewriter{}).rewrite(map[string]any{"allOf": all}, 1)
	runtime.ReadMemStats(&after)
	properties, _ := got["properties"].(map[string]any)
	if required := stringList(got["required"]); len(properties) != n+1 || len(required) != n+1 {
		t.Errorf("%d properties, %d of them required, want %d", len(properties), len(required), n+1)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("%d schemas took %d bytes", n, used)
	}
}

// Very many references to something large end at a bound, too. It is one for all schemas of a
// server.
func TestM1_LargeReferences(t *testing.T) {
	const n = 5000
	properties := map[string]any{}
	for i := range n {
		properties[fmt.Sprint("p", i)] = map[string]any{"$ref": "#/$defs/large"}
	}
	large := map[string]any{"enum": []any{strings.Repeat("long", 50_000)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	copied := 0
	got, err := parameters(map[string]any{"properties": properties, "$defs": map[string]any{"large": large}}, &copied)
	runtime.ReadMemStats(&after)
	if err != nil || len(got) > maxSchema || !strings.Contains(string(got), `"p4999":{}`) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 500<<20 {
		t.Errorf("%d references took %d bytes", n, used)
	}
	next := json.RawMessage(`{"properties":{"p":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"string"}}}`)
	if got, err := parameters(next, &copied); err != nil || string(got) != `{"properties":{"p":{}},"type":"object"}` {
		t.Errorf("the next schema of the server is %s, %v", got, err)
	}
}

// realSchemas returns the definitions of real servers.
func realSchemas(t testing.TB) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	files, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct {
			Name        string
			InputSchema json.RawMessage
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, one := range list {
			all[strings.TrimSuffix(filepath.Base(file), ".json")+"/"+one.Name] = one.InputSchema
		}
	}
	return all
}

// The schemas of real servers keep their properties, and a server as strict as each vendor takes
// them.
func TestM1_RealSchemas(t *testing.T) {
	var tools []llm.ToolDefinition
	real := realSchemas(t)
	for i, name := range slices.Sorted(maps.Keys(real)) {
		schema, err := parameters(real[name], new(int))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var before, after struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(real[name], &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(schema, &after); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(before.Properties)), slices.Sorted(maps.Keys(after.Properties))) {
			t.Errorf("%s: the properties %v became %v", name, before.Properties, after.Properties)
		}
		tools = append(tools, llm.ToolDefinition{Name: fmt.Sprint("tool_", i), Parameters: schema})
	}
	if len(tools) < 30 {
		t.Errorf("only %d schemas", len(tools))
	}
	accepted(t, tools)
}

// accepted fails the test unless servers of all formats take tools.
func accepted(t *testing.T, tools []llm.ToolDefinition) {
	t.Helper()
	for name, version := range map[string]string{"anthropic": "", "openai": "/v1", "gemini": "",
		"openai-compatible": "/v1"} {
		server := fakellm.New(fakellm.Script(fakellm.Turn{Text: "fine"}), fakellm.Options{})
		http.DefaultClient.CloseIdleConnections()
		kind, err := providers.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://x.test" + version,
			HTTPClient: llmtest.PipeClient(t, server)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", MaxTokens: 100,
			Messages: []llm.Message{llm.User("x")}, Tools: tools})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// refuses returns why a registry refuses arguments by a rewritten schema.
func refuses(schema json.RawMessage, args string) string {
	r, err := tool.NewRegistry(tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "x", Parameters: schema},
		Run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, nil }})
	if err != nil {
		return err.Error()
	}
	if p := r.Prepare(llm.ToolCall{Name: "x", Args: args}); p.Outcome != nil {
		return p.Outcome.Model.Text()
	}
	return ""
}

// What a schema allows, the rewritten one allows as well.
func TestM1_SchemasAreOnlyLooser(t *testing.T) {
	valid := 0
	seed.Check(t, func(rt *rapid.T) {
		original := drawSchema(rt, 3)
		original["type"] = "object"
		original["$defs"] = map[string]any{"d": withoutReferences(drawSchema(rt, 1)),
			"e": map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/e"}}}}
		data, err := json.Marshal(original)
		if err != nil {
			rt.Fatal(err)
		}
		doc := new(jsonschema.Schema)
		if json.Unmarshal(data, doc) != nil {
			return
		}
		resolved, err := doc.Resolve(nil)
		if err != nil {
			return
		}
		schema, err := parameters(original, new(int))
		for range 8 {
			instance := drawObject(rt, 2)
			if resolved.Validate(instance) != nil {
				continue
			}
			valid++
			args, _ := json.Marshal(instance) // it is plain data
			if err != nil {
				rt.Fatalf("%s is left out although %s fits: %v", data, args, err)
			}
			if why := refuses(schema, string(args)); why != "" {
				rt.Fatalf("%s\nallows %s\nbut    %s\ndoes not: %s", data, args, schema, why)
			}
		}
	})
	if valid < 50 {
		t.Errorf("only %d instances were valid", valid)
	}
}

func drawName(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "a b"}).Draw(rt, "name")
}

func drawScalar(rt *rapid.T) any {
	return rapid.SampledFrom([]any{nil, true, false, "", "a", "ab", "1", 0.0, 1.0, 1.5, 3.0, -2.0}).Draw(rt, "scalar")
}

func drawValue(rt *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 3).Draw(rt, "kind"); {
	case n == 0 && depth > 0:
		return drawObject(rt, depth)
	case n == 1 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(rt, "length") {
			list = append(list, drawValue(rt, depth-1))
		}
		return list
	}
	return drawScalar(rt)
}

func drawObject(rt *rapid.T, depth int) map[string]any {
	o := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(rt, "size") {
		o[drawName(rt)] = drawValue(rt, depth-1)
	}
	return o
}

// withoutReferences removes references, because a schema that refers to itself for the same value
// is not valid for anything, and the library overflows the stack there.
func withoutReferences(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "$ref")
		for _, member := range v {
			withoutReferences(member)
		}
	case []any:
		for _, element := range v {
			withoutReferences(element)
		}
	}
	return value
}

// drawSchema draws a schema of many keywords.
func drawSchema(rt *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(rt, "keywords") {
		kinds := 12
		if depth > 0 {
			kinds = 24
		}
		name, value := drawKeyword(rt, rapid.IntRange(0, kinds-1).Draw(rt, "keyword"), depth-1)
		s[name] = value
	}
	return s
}

func drawKeyword(rt *rapid.T, kind, depth int) (string, any) {
	sub := func() any { return drawSchema(rt, depth) }
	list := func() any {
		all := []any{sub()}
		for range rapid.IntRange(0, 2).Draw(rt, "more") {
			all = append(all, sub())
		}
		return all
	}
	named := func() any { return map[string]any{drawName(rt): sub(), drawName(rt): sub()} }
	switch kind {
	case 0, 1, 2:
		return "type", rapid.SampledFrom([]any{"object", "string", "number", "integer", "boolean", "null", "array",
			[]any{"string", "null"}, []any{"object", "array"}}).Draw(rt, "type")
	case 3:
		return "enum", []any{drawScalar(rt), drawScalar(rt)}
	case 4:
		return "const", drawScalar(rt)
	case 5:
		return rapid.SampledFrom([]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}).Draw(rt,
			"limit"), rapid.SampledFrom([]any{0.0, 1.0, 1.5}).Draw(rt, "n")
	case 6:
		return rapid.SampledFrom([]string{"minLength", "maxLength", "minItems", "maxItems", "minProperties",
			"maxProperties"}).Draw(rt, "limit"), rapid.IntRange(0, 2).Draw(rt, "n")
	case 7:
		return "pattern", rapid.SampledFrom([]string{"^a", "b$", "^[a-z]*$", ".", `\d`, `\S`}).Draw(rt, "pattern")
	case 8:
		return "required", []any{drawName(rt), drawName(rt) + "x"}[:1]
	case 9:
		return "$ref", rapid.SampledFrom([]string{"#/$defs/d", "#/$defs/e", "#/$defs/e/properties/a"}).Draw(rt, "ref")
	case 10:
		return "multipleOf", rapid.SampledFrom([]any{1.0, 2.0, 0.5}).Draw(rt, "n")
	case 11:
		return "additionalProperties", false
	case 12, 13, 14, 15:
		return "properties", named()
	case 16:
		return "additionalProperties", sub()
	case 17:
		return "patternProperties", map[string]any{"^a": sub()}
	case 18:
		return "items", sub()
	case 19:
		return "prefixItems", list()
	case 20:
		return "not", sub()
	case 21:
		return "allOf", list()
	case 22:
		return "anyOf", list()
	}
	return "oneOf", list()
}

func FuzzM1_Schemas(f *testing.F) {
	for _, schema := range realSchemas(f) {
		f.Add([]byte(schema))
	}
	f.Add([]byte(`{"$ref":"#/a","a":{"$ref":"#/b"},"b":{"$ref":"#/a"}}`))
	f.Add([]byte(`{"anyOf":[{"oneOf":[{}]},{"allOf":[{"anyOf":[false]}]}],"items":[true],"properties":{"a":{"$ref":"#/properties/a/items/0"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		schema, err := parameters(json.RawMessage(data), new(int))
		if err != nil {
			return
		}
		var root struct {
			Type       string
			Properties map[string]json.RawMessage
			AnyOf      json.RawMessage
		}
		if json.Unmarshal(schema, &root) != nil || root.Type != "object" || root.Properties == nil ||
			root.AnyOf != nil || len(schema) > maxSchema ||
			!utf8.Valid(schema) {
			t.Errorf("%s", schema)
		}
		if again, err := parameters(schema, new(int)); err != nil || !registers(again) {
			t.Errorf("%s is refused: %v", schema, err)
		}
	})
}

// A form that refers to itself would never be checked to its end.
func TestM1_FormsHaveNoReferences(t *testing.T) {
	s := &server{}
	for _, form := range []string{`{"type":"object","allOf":[{"$ref":"#"}]}`,
		`{"type":"object","properties":{"a":{"$dynamicRef":"#"}}}`} {
		if q, err := s.question(&sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(form)},
			0); err == nil {
			t.Errorf("%s is asked as %+v", form, q)
		}
	}
}
