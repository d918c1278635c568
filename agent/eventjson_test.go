package agent

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
)

// Every event survives a round trip through JSON, with any values of its fields.
func TestJ10_EventsFromJSON(t *testing.T) {
	for _, name := range eventTypes(t) {
		kind := kindOf(t, name)
		ev := newEvent(kind)
		if ev == nil || reflect.TypeOf(ev).Elem().Name() != name {
			t.Errorf("the kind %s of %s makes a %T", kind, name, ev)
			continue
		}
		filled(reflect.ValueOf(ev).Elem(), 1)
		ev.Head().Kind = kind
		if sub, ok := ev.(*SubagentEvent); ok {
			sub.Event = &SubagentEvent{EventHeader: EventHeader{Kind: KindSubagentEvent}, AgentID: "agent-2",
				Event: &Warning{EventHeader: EventHeader{Kind: KindWarning, Seq: 3}, Code: "x"}}
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		same, err := UnmarshalEvent(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := gocmp.Diff(ev, same); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// JSON that is not an event is an error.
func TestJ10_InvalidEvents(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"OF_TOMORROW"}`:      `unknown kind of event "OF_TOMORROW"`,
		`{}`:                          `unknown kind of event ""`,
		`[]`:                          "cannot read an event",
		`{"kind":"WARNING","text":1}`: "cannot read a WARNING event",
		`{"kind":"SUBAGENT_EVENT","event":{"kind":"OF_TOMORROW"}}`: "OF_TOMORROW",
		``: "cannot read an event",
	} {
		ev, err := UnmarshalEvent([]byte(text))
		if ev != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", text, ev, err)
		}
		if errors.Is(err, ErrUnknownKind) != strings.Contains(err.Error(), "unknown kind") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// eventTypes returns the names of all event types in the source.
func eventTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "kind" {
			names = append(names, f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d events: %v", len(names), names)
	}
	return names
}

// kindOf returns the kind of an event by the name of its type.
func kindOf(t *testing.T, name string) Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kind := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "Kind"+name {
			kind = strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
		}
		return true
	})
	return Kind(kind)
}

// filled sets every field to a value that is not its zero value.
func filled(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[llm.Part]() {
			v.Set(reflect.ValueOf(llm.Text{Text: "text"}))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				filled(v.Field(i), n)
			}
		}
	}
}
