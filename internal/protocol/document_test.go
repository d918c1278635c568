package protocol

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

// docs/protocol.md has a row for every type of line and every kind of event, and each row names
// exactly the members that there are.
func TestN2_ProtocolIsDocumented(t *testing.T) {
	rows := documented(t)
	want := map[string][]string{}
	for _, kind := range Types() {
		want[string(kind)] = Members(kind)
	}
	for _, kind := range kinds(t) {
		ev, err := agent.UnmarshalEvent([]byte(`{"kind":` + strconv.Quote(kind) + `,"event":{"kind":"WARNING"}}`))
		if err != nil {
			t.Fatal(err)
		}
		want[kind] = members(reflect.TypeOf(ev).Elem())
	}
	for kind, ev := range map[agent.Kind]attractor.Event{KindReply: &Reply{}, KindModeChanged: &ModeChanged{},
		attractor.KindUndone:  &attractor.Undone{},
		KindApprovalRequested: &ApprovalRequested{},
		KindQuestionAsked:     &QuestionAsked{}, KindAskEnded: &AskEnded{},
		KindToolRequested: &ToolRequested{}} {
		want[string(kind)] = members(reflect.TypeOf(ev).Elem())
	}
	for name, list := range want {
		got, ok := rows[name]
		slices.Sort(got)
		list = slices.Sorted(slices.Values(list))
		if !ok || !slices.Equal(got, list) {
			t.Errorf("the row of `%s` has the members %q, want %q", name, got, list)
		}
		delete(rows, name)
	}
	if len(rows) > 0 {
		t.Errorf("these rows are about nothing: %v", rows)
	}
}

// documented returns the members in the rows of the document's tables whose first cell is one name.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	row, name := regexp.MustCompile("(?m)^\\| `([A-Za-z_]+)` \\|([^|]*)\\|"), regexp.MustCompile("`([a-z_]+)`")
	rows := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		rows[m[1]] = []string{}
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			rows[m[1]] = append(rows[m[1]], n[1])
		}
	}
	return rows
}

// kinds returns the kinds of events that package agent has.
func kinds(t *testing.T) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../agent/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Kind" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("only %d kinds of events", len(all))
	}
	return all
}

// members returns the names in JSON of an event's fields, without those of the header.
func members(of reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || f.Index[0] == 0 || name == "" || name == "-" {
			continue
		}
		names = append(names, name)
	}
	return names
}

// What a program sends by the document's transcript is understood.
func TestN2_DocumentedLinesAreUnderstood(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    > (\{.*\})$`).FindAllStringSubmatch(string(data), -1)
	for _, line := range lines {
		if _, err := decode([]byte(line[1])); err != nil {
			t.Errorf("%s: %v", line[1], err)
		}
	}
	events := regexp.MustCompile(`(?m)^    (\{.*\})$`).FindAllStringSubmatch(string(data), -1)
	for _, line := range events {
		if !json.Valid([]byte(line[1])) {
			t.Errorf("no JSON: %s", line[1])
		}
	}
	if len(lines) < 5 || len(events) < 10 {
		t.Errorf("only %d lines and %d events", len(lines), len(events))
	}
}
