package permit_test

import (
	"context"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Unasked is about scripts for the shell, which can be started where they change nothing, and not
// about what only looks like one.
func TestU21_OnlyScriptsRunUnasked(t *testing.T) {
	dir := t.TempDir()
	set, err := rules.Load(rules.Dirs{Work: dir, Home: "/home/somebody"})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	never := func(context.Context, tool.Request) (permit.Opinion, error) { return permit.Opinion{}, nil }
	for _, c := range []struct {
		tool     string
		access   tool.Access
		hooks    []permit.Hook
		observed bool
	}{
		{"shell", tool.Access{Effect: tool.Writes, Command: "make x"}, nil, true},
		{"shell", tool.Access{Effect: tool.Writes, Command: "ls"}, nil, true},
		{"shell", tool.Access{Effect: tool.Writes, Command: "make x"}, []permit.Hook{never}, false},
		{"shell", tool.Access{Effect: tool.Writes, Command: "make x", Asks: "it runs on another host"}, nil, false},
		{"shell", tool.Access{Effect: tool.Writes, Command: "cat /srv/other/.env"}, nil, false},
		{"process", tool.Access{Effect: tool.Writes, Command: `process 1: write "rm -rf ~\n"`}, nil, false},
		{"write_stdin", tool.Access{Effect: tool.Writes, Command: `session 1: write "rm -rf ~\n"`}, nil, false},
		{"Agent", tool.Access{Effect: tool.ReadOnly, Command: "look for it"}, nil, false},
		{"deploy", tool.Access{Effect: tool.Exclusive, Command: "deploy prod"}, nil, false},
	} {
		g := permit.NewGate(permit.ModeAsk, set, local)
		g.Unasked, g.BeforeQuestion = func() bool { return true }, c.hooks
		d, err := g.Authorize(t.Context(),
			tool.Request{Dir: dir, Access: c.access, Call: llm.ToolCall{ID: "1", Name: c.tool, Args: "{}"}})
		if err != nil {
			t.Error(err)
		}
		if got := g.Observed(&tool.Call{Value: d.Value}); got != c.observed || got && d.Verdict != tool.Allow {
			t.Errorf("%s %q is observed: %v, %+v", c.tool, c.access.Command, got, d)
		}
	}
}
