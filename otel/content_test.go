package otel_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

const (
	password = "correct-horse-battery"
	apiKey   = "sk-ant-api03-AAAAbbbbCCCCddddEEEEffffGGGGhhhhIIIIjjjjKKKKllllMMMMnnnnOOOOppppQQQQrrrrSSSStttt-AAAAAAAA"
)

// secretive runs a session in which the input, an answer, arguments and results have secrets and a
// word that stands for ordinary content.
func secretive(t *testing.T, o otel.Options) (l *lab, reported string) {
	l = newLab(t, fakellm.Options{}, fakellm.Turn{Text: "The word is marzipan, the password " + password,
		Calls: []fakellm.Call{
			use("c1", "shell", object{"command": "echo marzipan; cat keys; echo " + password}),
			use("c2", "marzipan_"+password, object{"marzipan": password})}},
		fakellm.Turn{Text: "marzipan"})
	if err := os.WriteFile(filepath.Join(l.dir, "keys"), []byte(apiKey+"\n\xff\xfe"+strings.Repeat("x", 200_000)),
		0o644); err != nil {
		t.Fatal(err)
	}
	l.submit(o)
	return l, l.receiver.Tree(func(_, value string) string { return value })
}

func TestN6_NoContentUnlessAsked(t *testing.T) {
	_, reported := secretive(t, otel.Options{})
	for _, text := range []string{"marzipan", password, apiKey, "do it", "xxxxx"} {
		if strings.Contains(reported, text) {
			t.Errorf("%q was reported:\n%s", text, reported)
		}
	}
}

func TestN6_ContentIsMaskedAndBounded(t *testing.T) {
	masker := secret.New()
	if err := masker.Register("PASSWORD", password); err != nil {
		t.Fatal(err)
	}
	l, reported := secretive(t, otel.Options{Content: true, Masker: masker, ContentLimit: 2000})
	for _, text := range []string{password, apiKey, apiKey[20:60]} {
		if strings.Contains(reported, text) {
			t.Errorf("%q was reported:\n%s", text, reported)
		}
	}
	for _, text := range []string{`gen_ai.input.messages=[{"role":"user","parts":[{"type":"text","content":"do it"}]}]`,
		"The word is marzipan, the password [secret PASSWORD]",
		`gen_ai.tool.call.result=marzipan`,
		`"type":"tool_call","id":"c1","name":"shell","arguments":{"command":"echo marzipan`, "[...]",
		`"type":"tool_call_response"`} {
		if !strings.Contains(reported, text) {
			t.Errorf("%q was not reported:\n%s", text, reported)
		}
	}
	for _, s := range l.receiver.Spans() {
		for _, a := range s.Attributes {
			if n := len(a.Value.GetStringValue()); n > 4000 { // the limit, and what JSON needs for it
				t.Errorf("%s of %s has %d bytes", a.Key, s.Name, n)
			}
		}
	}
}

// Without a masker of the program's, the formats of keys are masked all the same.
func TestN6_ContentWithoutMasker(t *testing.T) {
	_, reported := secretive(t, otel.Options{Content: true})
	if strings.Contains(reported, apiKey) || !strings.Contains(reported, "marzipan") {
		t.Errorf("the spans are\n%s", reported)
	}
}

// What is not UTF-8 does not cost the other spans.
func TestN6_InvalidText(t *testing.T) {
	l := newLab(t, fakellm.Options{}, fakellm.Turn{Calls: []fakellm.Call{use("c1", "work", object{})}},
		fakellm.Turn{Text: "Done."})
	l.Tools = []tool.Tool{tool.New(llm.ToolDefinition{Name: "work", Description: "Works."},
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
			return tool.Text("a\xffb"), nil
		})}
	l.submit(otel.Options{Content: true})
	if got := l.span("execute_tool work")["gen_ai.tool.call.result"]; got != "a\uFFFDb" {
		t.Errorf("the result is %q", got)
	}
}

func TestN6_FromEnvironment(t *testing.T) {
	for _, c := range []struct {
		optIn, capture string
		content        bool
		conventions    otel.Conventions
	}{
		{"", "", false, ""},
		{"http", "false", false, ""},
		{"http, gen_ai_latest_experimental", "TRUE", true, otel.ConventionsGenAI0_1},
		{"", "SPAN_ONLY", true, ""},
		{"", "span_and_event", true, ""},
		{"", "EVENT_ONLY", false, ""},
		{"", "NO_CONTENT", false, ""},
	} {
		o := otel.FromEnvironment(func(name string) string {
			return map[string]string{"OTEL_SEMCONV_STABILITY_OPT_IN": c.optIn,
				"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": c.capture}[name]
		})
		if o.Content != c.content || o.Conventions != c.conventions {
			t.Errorf("%+v gives content %v, conventions %q", c, o.Content, o.Conventions)
		}
	}
}
