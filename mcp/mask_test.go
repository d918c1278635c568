package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server says about itself and its tools has no secrets, also when it is remembered. A tool
// whose name has one is left out.
func TestL7_DefinitionsOfServers(t *testing.T) {
	const key = "key-of-the-lab"
	synctest.Test(t, func(t *testing.T) {
		known := &pins{keep: map[string]map[string]string{}}
		l := &lastStart{t: t, tools: []string{"look", "look-" + key}, about: " It logs in with " + key + "."}
		l.o = Options{Servers: []Server{{Name: "lab", URL: "http://127.0.0.1/mcp", StartTimeout: time.Minute}},
			Pins: known}
		var servers *Servers
		for range 2 { // what was remembered before there was a mask does not count
			servers = l.again(0)
			if left := servers.Await(t.Context(), time.Minute); left != nil {
				t.Errorf("%q have not started", left)
			}
			if l.o.Mask == nil {
				if err := servers.Close(); err != nil {
					t.Error(err)
				}
			}
			l.o.Mask = func(text string) string { return strings.ReplaceAll(text, key, "[secret]") }
		}
		tools := servers.Tools()
		said := fmt.Sprintf("%+v %s %v", tools, known.keep["lab"][pinDefinitions], l.told.errs)
		if strings.Contains(said, key) || len(tools) != 1 ||
			tools[0].Description != "Does look. It logs in with [secret]." {
			t.Errorf("the tools are %s", said)
		}
		if !strings.Contains(l.told.all(), "the tool look-[secret] of the MCP server lab is left out") {
			t.Errorf("the warnings are %s", l.told.all())
		}
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Schemas keep their form, and a parameter whose name has a secret is found.
func TestL7_SchemasOfServers(t *testing.T) {
	const key = "key-of-the-lab"
	s := &server{owner: &Servers{o: Options{Mask: func(text string) string {
		return strings.ReplaceAll(text, key, "[secret]")
	}}}, told: map[string]bool{}}
	s.owner.o.Warn = func(string, error) {}
	for schema, want := range map[string]string{
		`{"properties":{"a":{"default":"key-of-the-lab","enum":["key-of-the-lab",3]}}}`: `{"properties":{"a":{"default":"[secret]","enum":["[secret]",3]}}}`,
		`{"properties":{"a":{"properties":{"key-of-the-lab":{}}}}}`:                     "",
	} {
		var value any
		if err := json.Unmarshal([]byte(schema), &value); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range s.withoutSecrets([]*sdk.Tool{{Name: "look", InputSchema: value}}) {
			got = string(encoded(one.InputSchema))
		}
		if got != want {
			t.Errorf("%s becomes %q, want %q", schema, got, want)
		}
	}
}
