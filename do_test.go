package attractor_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A result of a type comes from a session like any other, and what keeps it from coming is an
// error.
func TestT1_Do(t *testing.T) {
	type answer struct {
		Number int `json:"number" jsonschema:"the answer"`
	}
	o := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{call("read_file", `{"file_path":"notes.txt"}`)}},
		fakellm.Turn{Text: "It is 42."}, fakellm.Turn{Text: `{"number":42}`})
	o.write("notes.txt", "The answer is 42.\n")
	c := o.config()
	asked := false
	c.Options = func(*agent.Options) { asked = true }
	got, result, err := attractor.Do[answer](t.Context(), c, "What is the answer?")
	if err != nil || got.Number != 42 || result.Turns != 3 || !asked {
		t.Errorf("%+v, %+v, %v; its own options were asked: %v", got, result, err, asked)
	}

	limited := newOpened(t, fakellm.Turn{Calls: []fakellm.Call{call("read_file", `{"file_path":"notes.txt"}`)}},
		fakellm.Turn{Text: `{"number":42}`})
	c = limited.config()
	c.Options = func(o *agent.Options) { o.Policy.MaxTurns = 1 }
	if _, result, err := attractor.Do[answer](t.Context(), c, "What is the answer?"); err == nil ||
		!strings.Contains(err.Error(), string(result.Reason)) {
		t.Errorf("at a limit: %+v, %v", result, err)
	}
	if _, result, err := attractor.Do[func()](t.Context(), o.config(), "x"); err == nil || result == nil ||
		!strings.Contains(err.Error(), "the type") {
		t.Errorf("a type that is no struct: %v", err)
	}
	if _, result, err := attractor.Do[answer](t.Context(), attractor.Config{Dir: t.TempDir() + "/none", Vars: o.vars},
		"x"); err == nil || result == nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}
