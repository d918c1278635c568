package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

type lookArgs struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset,omitempty"`
	Where    struct {
		Line int `json:"line,omitempty"`
	} `json:"where,omitzero"`
}

// look returns a tool with an effect that returns its path argument. If open is set, the schema
// does not say which parameters exist.
func look(effect Effect, open bool, runs *int) Tool {
	def := llm.ToolDefinition{Name: "look"}
	if open {
		def.Parameters = json.RawMessage(
			`{"type":"object","properties":{"file_path":{"type":"string"},"offset":{"type":"integer"}},"required":["file_path"]}`)
	}
	t := New(def, func(_ context.Context, _ *Call, args lookArgs) (Result, error) {
		*runs++
		return Text(args.FilePath), nil
	})
	return WithAccess(t, func(lookArgs) Access { return Access{Effect: effect} })
}

func TestR6_ReadOnlyCallsRunAndSayWhatWasIgnored(t *testing.T) {
	for _, open := range []bool{false, true} {
		for args, want := range map[string]string{
			`{"file_path":"a","tail":5}`:               `unknown parameter "tail"`,
			`{"file_path":"a","ofset":5}`:              `unknown parameter "ofset" (did you mean "offset"?)`,
			`{"file_path":"a","x":1,"description":""}`: `unknown parameter "x"`,
		} {
			runs := 0
			o := run(register(t, look(ReadOnly, open, &runs)), call("look", args), nil)
			got := o.Model.Text()
			if runs != 1 || o.IsError ||
				!strings.HasPrefix(got, "a\n[Ignored: "+want+"; the parameters of look are file_path, offset") ||
				got != o.Content.Text() {
				t.Errorf("%s: %d runs, %q", args, runs, got)
			}
			if strings.Contains(got, `"description"`) {
				t.Errorf("a comment was called unknown: %q", got)
			}
		}
	}
}

func TestR6_OtherCallsAreRefused(t *testing.T) {
	for _, effect := range []Effect{Writes, Exclusive} {
		for _, open := range []bool{false, true} {
			runs := 0
			o := run(register(t, look(effect, open, &runs)), call("look", `{"file_path":"a","tail":5}`), nil)
			refused(t, o, runs, `unknown parameter "tail"; the parameters of look are file_path, offset`,
				"Nothing was run")
			base := look(effect, open, &runs)
			def := llm.ToolDefinition{Name: "peek", Parameters: look(effect, true, &runs).Parameters}
			adapted := Adapt[json.RawMessage](base, def, nil, nil)
			o = run(register(t, adapted), call("peek", `{"file_path":"a","tail":5}`), nil)
			refused(t, o, runs, `unknown parameter "tail"`, "Nothing was run")
		}
	}
}

func TestR6_CommentsAreNoParameters(t *testing.T) {
	for _, key := range []string{"description", "explanation", "reason", "justification"} {
		runs := 0
		o := run(register(t, look(Writes, false, &runs)), call("look", `{"file_path":"a","`+key+`":"because"}`), nil)
		if runs != 1 || o.IsError || o.Model.Text() != "a" {
			t.Errorf("%s: %d runs, %q", key, runs, o.Model.Text())
		}
	}
}

func TestR6_AWrongNameForARequiredParameterIsNamed(t *testing.T) {
	for _, wrong := range []string{"path", "filePath", "file", "FilePath", "filename", "target"} {
		runs := 0
		o := run(register(t, look(ReadOnly, false, &runs)), call("look", `{"`+wrong+`":"a"}`), nil)
		refused(t, o, runs, `"file_path" is missing`, `unknown parameter "`+wrong+`" (did you mean "file_path"?)`)
	}
	runs := 0
	o := run(register(t, look(ReadOnly, false, &runs)), call("look", `{"target":7}`), nil)
	if refused(t, o, runs, `unknown parameter "target"`); strings.Contains(o.Model.Text(), "did you mean") {
		t.Errorf("a number was taken for a path: %s", o.Model.Text())
	}
}

func TestR6_FieldsOfParameters(t *testing.T) {
	runs := 0
	o := run(register(t, look(Writes, false, &runs)), call("look", `{"file_path":"a","where":{"lines":1}}`), nil)
	refused(t, o, runs, `unknown field "lines" (did you mean "line"?); the fields of "where" are line`)
}

// TestR6_WhatASchemaAllowsIsPassedOn has tools that decode their arguments themselves, such as
// those of a server.
func TestR6_WhatASchemaAllowsIsPassedOn(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`,
		`{"type":"object"}`,
	} {
		got := ""
		tool := Tool{ToolDefinition: llm.ToolDefinition{Name: "remote", Parameters: json.RawMessage(schema)},
			Run: func(_ context.Context, c *Call) (Result, error) {
				got = c.Args
				return Text("ok"), nil
			}}
		if o := run(register(t, tool), call("remote", `{"a":"x","b":1}`), nil); o.IsError || got != `{"a":"x","b":1}` {
			t.Errorf("%s: %s, the tool got %s", schema, o.Model.Text(), got)
		}
	}
}

// TestR6_AnEditedCallStillSays has a hook edit arguments after an unknown one was left out.
func TestR6_AnEditedCallStillSays(t *testing.T) {
	runs := 0
	edit := func(context.Context, Request) (Decision, error) {
		return Decision{Verdict: Allow, Args: `{"file_path":"b"}`}, nil
	}
	o := run(register(t, look(ReadOnly, false, &runs)), call("look", `{"file_path":"a","tail":5}`), edit)
	if got := o.Model.Text(); !strings.HasPrefix(got, `b`+"\n"+`[Ignored: unknown parameter "tail"`) {
		t.Errorf("%q", got)
	}
}

func TestR6_TheLineComesAfterWhatIsCut(t *testing.T) {
	runs := 0
	tool := look(ReadOnly, false, &runs)
	tool.Limit = Limit{Chars: 10, Keep: KeepHead}
	o := run(register(t, tool), call("look", `{"file_path":"`+strings.Repeat("a", 1000)+`","tail":5}`), nil)
	if got := o.Model.Text(); !o.Truncated || !strings.HasSuffix(got, "file_path, offset, where.]") {
		t.Errorf("%q", got)
	}
}
