package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

// validator is a program that validates values with ajv, by which most servers check their
// arguments: the first value of a line is the draft, the second and third are schemas, and the
// others are values. It answers with which of them each of the two schemas allows.
const validator = `
const drafts = {"7": require("ajv").default, "2019": require("ajv/dist/2019").default, "2020": require("ajv/dist/2020").default};
const check = (draft, schema, values) => {
	const valid = new drafts[draft]({strict: false, validateFormats: false, validateSchema: false, logger: false}).compile(schema);
	return values.map((v) => { try { return valid(v) } catch (e) { return false } }); // a schema may refer to itself without end
};
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
	const [draft, original, rewritten, ...values] = JSON.parse(line);
	let allowed;
	try { allowed = check(draft, original, values) } catch (e) { allowed = values.map(() => false) }
	let error = "";
	let rewrittenAllows = [];
	try { rewrittenAllows = check("2020", rewritten, values) } catch (e) { error = String(e) }
	console.log(JSON.stringify({allowed, rewrittenAllows, error}));
});`

// ajv is a running validator.
type ajv struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// verdicts hold what the validator says about values.
type verdicts struct {
	Allowed, RewrittenAllows []bool
	Error                    string
}

// startAjv starts a validator, which ends with the test.
func startAjv(t *testing.T) *ajv {
	t.Helper()
	node, modules := peer.Need(t, "node"), peer.NeedModules(t, "ajv")
	cmd := exec.Command(node, "-e", validator)
	cmd.Env = append(cmd.Environ(), "NODE_PATH="+modules)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the program may have ended
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &ajv{in, bufio.NewReader(out)}
}

// judge returns which of the values two schemas allow.
func (a *ajv) judge(t rapid.TB, draft string, original any, rewritten json.RawMessage, values []any) (v verdicts) {
	t.Helper()
	line, err := json.Marshal(append([]any{draft, original, rewritten}, values...))
	if err == nil {
		_, err = a.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = a.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawOldKeywords adds keywords of single drafts to a schema and to those in it.
func drawOldKeywords(rt *rapid.T, schema map[string]any, draft string) {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		parts := []any{schema[name]}
		switch value := schema[name].(type) {
		case []any:
			parts = value
		case map[string]any:
			if name == "properties" || name == "patternProperties" {
				parts = nil
				for _, member := range slices.Sorted(maps.Keys(value)) {
					parts = append(parts, value[member])
				}
			}
		}
		for _, part := range parts {
			if sub, ok := part.(map[string]any); ok {
				drawOldKeywords(rt, sub, draft)
			}
		}
	}
	sub := func() any { return drawSchema(rt, 1) }
	switch n := rapid.IntRange(0, 10).Draw(rt, "old"); {
	case n == 0 && draft != "2020":
		schema["items"] = []any{sub(), sub()}
		schema["additionalItems"] = rapid.SampledFrom([]any{false, true, sub()}).Draw(rt, "additional")
	case n == 1 && draft == "7":
		schema["dependencies"] = map[string]any{drawName(rt): []any{drawName(rt)}, "b": sub()}
	case n == 2 && draft != "7":
		schema["dependentRequired"] = map[string]any{drawName(rt): []any{drawName(rt)}}
		schema["dependentSchemas"] = map[string]any{drawName(rt): sub()}
	case n == 3 && draft != "7":
		schema["unevaluatedProperties"] = rapid.SampledFrom([]any{false, sub()}).Draw(rt, "unevaluated")
	case n == 4:
		schema["contains"] = sub()
	case n == 5:
		schema["propertyNames"] = map[string]any{"pattern": "^[ab]"}
	case n == 6:
		schema["if"], schema["then"], schema["else"] = sub(), sub(), sub()
	case n == 7:
		schema["uniqueItems"] = true
	case n == 8 && draft != "7":
		schema["contains"], schema["minContains"], schema["maxContains"] = sub(), 0, 1
	}
}

// drawTuple draws a schema for arrays, as the drafts have it.
func drawTuple(rt *rapid.T, draft string) map[string]any {
	first, rest := "items", "additionalItems"
	if draft == "2020" {
		first, rest = "prefixItems", "items"
	}
	element := rapid.SampledFrom([]any{map[string]any{"type": "string"}, map[string]any{"type": "number"}, true,
		map[string]any{"minLength": 1}})
	tuple := map[string]any{"type": "array", first: rapid.SliceOfN(element, 1, 3).Draw(rt, "tuple")}
	if more := rapid.SampledFrom([]any{nil, false, true, map[string]any{"type": "string"}}).Draw(rt,
		"rest"); more != nil {
		tuple[rest] = more
	}
	if n := rapid.IntRange(-1, 4).Draw(rt, "most"); n >= 0 {
		tuple["maxItems"] = n
	}
	return tuple
}

// What ajv allows by a server's schema, it allows by the rewritten one as well, and so does our own
// check.
func TestM1_SchemasForAjv(t *testing.T) {
	t.Parallel()
	a := startAjv(t)
	allowed, all := 0, 0
	seed.Check(t, func(rt *rapid.T) {
		draft := rapid.SampledFrom([]string{"7", "2019", "2020"}).Draw(rt, "draft")
		original := drawSchema(rt, 3)
		drawOldKeywords(rt, original, draft)
		original["type"] = "object"
		lists := rapid.Bool().Draw(rt, "lists")
		if lists {
			original["properties"] = map[string]any{"a": drawTuple(rt, draft)}
		}
		if _, ref := original["$ref"]; ref && draft == "7" {
			delete(original, "$ref") // whatever stands beside it would have no effect
		}
		original["$defs"] = map[string]any{"d": withoutReferences(drawSchema(rt, 1)),
			"e": map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/e"}}}}
		values := make([]any, 8)
		for i := range values {
			value := drawObject(rt, 2)
			if values[i] = value; lists {
				value["a"] = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) any { return drawScalar(rt) }), 0,
					4).Draw(rt, "list")
			}
		}
		rewritten, err := parameters(original, new(int))
		if err != nil {
			rewritten = json.RawMessage("false")
		}
		v := a.judge(rt, draft, original, rewritten, values)
		if v.Error != "" || len(v.Allowed) != len(values) {
			rt.Fatalf("%s is no schema for ajv: %s", rewritten, v.Error)
		}
		for i, value := range values {
			if all++; !v.Allowed[i] {
				continue
			}
			allowed++
			args := must(json.Marshal(value))
			if why := refuses(rewritten, string(args)); why != "" || !v.RewrittenAllows[i] {
				rt.Fatalf("by draft %s, %s\nallows %s\nbut    %s\ndoes not: %s", draft, must(json.Marshal(original)),
					args, rewritten, why)
			}
		}
	})
	if t.Logf("%d of %d values are allowed", allowed, all); allowed < all/20 {
		t.Errorf("only %d of %d values are allowed", allowed, all)
	}
}
