package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/tool"
)

func params(address string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "url", Message: "Open this.", URL: address}
}

func TestM1_Resources(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	o := run(t.Context(), t, s, ListResources, `{"server":"lab"}`, tool.Call{})
	if want := "lab://log; log; text/plain\ntemplate lab://day/{day}; days"; o.Model.Text() != want {
		t.Errorf("the list is %q, want %q", o.Model.Text(), want)
	}
	o = run(t.Context(), t, s, ReadResource, `{"server":"lab","uri":"lab://log"}`, tool.Call{})
	if want := "[Resource lab://log]\nall is well\n[2 bytes of application/zip of the resource lab://blob were left " +
		"out: models here take only PNG, JPEG, GIF and WebP images.]"; o.Model.Text() != want {
		t.Errorf("the resource is %q, want %q", o.Model.Text(), want)
	}
	for args, want := range map[string]string{`{"server":"lab","uri":"lab://day/1"}`: "no such day",
		`{"server":"x","uri":"y"}`: "the servers with resources are lab"} {
		if o := run(t.Context(), t, s, ReadResource, args, tool.Call{}); !o.IsError || !strings.Contains(o.Model.Text(),
			want) {
			t.Errorf("%s is %q, want %q", args, o.Model.Text(), want)
		}
	}
	if got := len(ready(t, Options{Servers: []Server{as(t, "old", "brittle")}}).Tools()); got != 1 {
		t.Errorf("a server without resources has %d tools", got)
	}
}

func TestM1_Prompts(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab"), as(t, "old", "brittle")}})
	list := s.Prompts(t.Context())
	if len(list) != 1 || list[0].Name != "mcp__lab__report_on" || list[0].Description != "Writes a report." ||
		!list[0].Arguments[0].Required {
		t.Fatalf("the prompts are %+v", list)
	}
	parts, err := list[0].Get(t.Context(), map[string]string{"what": "the weather"})
	if want := "Report on\\u{200b} the weather\n[As an example, an assistant answers:]\nGladly."; err != nil ||
		parts.Text() != want {
		t.Errorf("the prompt is %q, %v; want %q", parts.Text(), err, want)
	}
	if _, err := list[0].Get(t.Context(), nil); err == nil || !strings.Contains(err.Error(),
		"needs the argument what") {
		t.Errorf("without its argument: %v", err)
	}
}
