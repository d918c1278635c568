package tool

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
)

// named returns a tool that answers with a text.
func named(name, answer string) Tool {
	return New(llm.ToolDefinition{Name: name, Description: answer}, func(context.Context, *Call, struct{}) (Result,
		error) {
		return Text(answer), nil
	})
}

func TestAC2_5_CustomToolsJoinThose(t *testing.T) {
	r := register(t, named("a", "1"), named("b", "2"))
	if err := r.Register(named("mine", "3")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "mine"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	if o := run(r, call("mine", `{}`), nil); o.Model.Text() != "3" {
		t.Errorf("%+v", o)
	}
}

func TestAC2_6_TheLastOneOfANameWins(t *testing.T) {
	r := register(t, named("a", "1"), named("b", "2"), named("a", "mine"))
	if diff := cmp.Diff([]string{"a", "b"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	if o := run(r, call("a", `{}`), nil); o.Model.Text() != "mine" {
		t.Errorf("%+v", o)
	}
	if d := r.Definitions()[0]; d.Description != "mine" {
		t.Errorf("declared is %q", d.Description)
	}
}

func TestC11_AFunctionBecomesATool(t *testing.T) {
	tool := New(llm.ToolDefinition{Name: "add"}, func(_ context.Context, _ *Call, args struct {
		A    int    `json:"a" jsonschema:"the first"`
		Note string `json:"note,omitempty"`
	}) (Result, error) {
		return Text(args.Note), nil
	})
	var got, want any
	if err := json.Unmarshal(register(t, tool).Definitions()[0].Parameters, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"a":{"type":"integer","description":"the first"},"note":{"type":"string"}},
		"required":["a"],"additionalProperties":false}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestC11_UnfitToolsAreRefusedAndChangeNothing(t *testing.T) {
	run := func(context.Context, *Call) (Result, error) { return Result{}, nil }
	object := json.RawMessage(`{"type":"object","properties":{}}`)
	r := register(t, named("a", "1"))
	for want, tool := range map[string]Tool{
		"no name":       {ToolDefinition: llm.ToolDefinition{Parameters: object}, Run: run},
		"no Run":        {ToolDefinition: llm.ToolDefinition{Name: "a", Parameters: object}},
		"no parameters": {ToolDefinition: llm.ToolDefinition{Name: "a"}, Run: run},
		"type object": {ToolDefinition: llm.ToolDefinition{Name: "a",
			Parameters: json.RawMessage(`{"type":"string"}`)}, Run: run},
		"parameters": {ToolDefinition: llm.ToolDefinition{Name: "a", Parameters: json.RawMessage(`{"type":`)},
			Run: run},
		"cannot infer": New(llm.ToolDefinition{Name: "a"}, func(context.Context, *Call, struct {
			C chan int `json:"c"`
		}) (Result, error) {
			return Result{}, nil
		}),
	} {
		if err := r.Register(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if d := r.Definitions(); len(d) != 1 || d[0].Description != "1" {
		t.Errorf("%+v", d)
	}
}

// An adapted tool differs from the other one in its interface alone.
func TestC11_AdaptKeepsTheRest(t *testing.T) {
	base := WithAccess(greet(new(int)), func(greetArgs) Access { return Access{Effect: ReadOnly} })
	base.Limit, base.Needs, base.Guidance, base.Instead = Limit{Chars: 5}, NeedsAnswers, "Greet first.",
		[]Instead{{Of: []string{"hello"}}}
	adapted := Adapt(base, llm.ToolDefinition{Name: "welcome", Description: "Welcomes."},
		func(args greetArgs) (any, error) { return args, nil }, nil)
	access, err := adapted.Access(`{"name":"x"}`)
	if err != nil || access.Effect != ReadOnly || adapted.Limit != base.Limit || adapted.Needs != base.Needs ||
		adapted.Guidance != base.Guidance ||
		len(adapted.Instead) != 1 {
		t.Errorf("%+v, %v, %+v", access, err, adapted)
	}
}

func TestC11_Unregister(t *testing.T) {
	r := register(t, named("a", "1"), named("b", "2"))
	r.Unregister("a")
	r.Unregister("nowhere")
	if _, ok := r.Get("a"); ok {
		t.Error("a is still there")
	}
	if _, ok := r.Get("b"); !ok {
		t.Error("b is gone")
	}
	if o := run(r, call("a", `{}`), nil); !o.IsError {
		t.Error("a still runs")
	}
}

func TestC11_RegistriesShareNothing(t *testing.T) {
	tools := []Tool{named("a", "1")}
	one, two := register(t, tools...), register(t, tools...)
	if err := one.Register(named("a", "mine")); err != nil {
		t.Fatal(err)
	}
	if o := run(two, call("a", `{}`), nil); o.Model.Text() != "1" {
		t.Errorf("%+v", o)
	}
}

func TestC11_RegistryIsSafeForConcurrentUse(t *testing.T) {
	r := register(t, named("a", "1"))
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 50 {
				if err := r.Register(named("b", "2")); err != nil {
					t.Error(err)
				}
				r.Definitions()
				run(r, call("b", `{}`), nil)
				r.Unregister("b")
			}
		})
	}
	running.Wait()
	if diff := cmp.Diff([]string{"a"}, r.Names()); diff != "" {
		t.Error(diff)
	}
}
