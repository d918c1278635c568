package tracecontext_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tracecontext"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestN6_Fields(t *testing.T) {
	for name, c := range map[string]struct {
		given, want tracecontext.Fields
	}{
		"both": {tracecontext.Fields{Parent: parent, State: "a=1"},
			tracecontext.Fields{Parent: parent, State: "a=1"}},
		"no state":                 {tracecontext.Fields{Parent: parent}, tracecontext.Fields{Parent: parent}},
		"a state alone":            {tracecontext.Fields{State: "a=1"}, tracecontext.Fields{}},
		"too short":                {tracecontext.Fields{Parent: parent[1:]}, tracecontext.Fields{}},
		"another header behind it": {tracecontext.Fields{Parent: parent[:53] + "\r\n"}, tracecontext.Fields{}},
		"upper case":               {tracecontext.Fields{Parent: strings.ToUpper(parent)}, tracecontext.Fields{}},
		"no trace": {tracecontext.Fields{Parent: parent[:3] + strings.Repeat("0", 32) + parent[35:]},
			tracecontext.Fields{}},
		"no span": {tracecontext.Fields{Parent: parent[:36] + strings.Repeat("0", 16) + parent[52:]},
			tracecontext.Fields{}},
		"no version": {tracecontext.Fields{Parent: "ff" + parent[2:]}, tracecontext.Fields{}},
		"a line in the state": {tracecontext.Fields{Parent: parent, State: "a=1\r\nX: y"},
			tracecontext.Fields{Parent: parent}},
		"a long state": {tracecontext.Fields{Parent: parent, State: strings.Repeat("a", 5000)},
			tracecontext.Fields{Parent: parent}},
	} {
		if got := tracecontext.From(tracecontext.With(t.Context(), c.given)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestN6_FieldsInEveryForm(t *testing.T) {
	ctx := t.Context()
	header := http.Header{}
	tracecontext.SetHeader(ctx, header)
	if len(header) != 0 || tracecontext.All(ctx) != nil || tracecontext.Environ(ctx) != nil {
		t.Errorf("a context without fields has %v, %v, %v", header, tracecontext.All(ctx), tracecontext.Environ(ctx))
	}
	ctx = tracecontext.With(ctx, tracecontext.Fields{Parent: parent, State: "a=1"})
	tracecontext.SetHeader(ctx, header)
	if header.Get("traceparent") != parent || header.Get("tracestate") != "a=1" {
		t.Errorf("the header is %v", header)
	}
	if all := tracecontext.All(ctx); !maps.Equal(all, map[string]string{"traceparent": parent, "tracestate": "a=1"}) {
		t.Errorf("the fields are %v", all)
	}
	if vars := tracecontext.Environ(ctx); !slices.Equal(vars, []string{"TRACEPARENT=" + parent, "TRACESTATE=a=1"}) {
		t.Errorf("the variables are %v", vars)
	}
	own := http.Header{"Traceparent": {"mine"}}
	if tracecontext.SetHeader(ctx, own); own.Get("Traceparent") != "mine" || own.Get("Tracestate") != "" {
		t.Errorf("a header that has a parent became %v", own)
	}
}
