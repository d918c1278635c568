package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/server"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// The document, for which nobody needs a token, is made once.
func TestW4_DocumentIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newWorld(t).start().server
	first, err := s.DocumentOf()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.DocumentOf(); err != nil || &again[0] != &first[0] {
		t.Errorf("it is made again, %v", err)
	}
}

// docs/reference/openapi.json is what the types and routes say, and each reference in it leads to a
// schema.
func TestW1_Document(t *testing.T) {
	const file = "../docs/reference/openapi.json"
	got, err := server.Document()
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, got) {
		t.Errorf("%s is not the API; go test ./server -run TestW1_Document -update writes it", file)
	}
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(got, &document); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(got), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}
