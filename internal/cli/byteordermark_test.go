package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestN8_FilesWithAByteOrderMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(name, []byte(bom+`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if schema, err := readSchema(name); err != nil || string(schema) != `{"type":"object"}` {
		t.Errorf("the schema %q, %v", schema, err)
	}
	if facts, err := readFacts(name); err != nil || string(facts) != `{"type":"object"}` {
		t.Errorf("the facts %q, %v", facts, err)
	}
}
