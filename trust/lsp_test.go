package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// What a project's language servers start is shown, and the programs of the project among it are
// part of what is trusted.
func TestM11_LanguageServersNeedTrust(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{".attractor/lsp.json": `{"own": {"command": "./tools/serve", "args": ["--stdio"], "env": {"A": "b"}, "settings": {"command": "x"}}}`,
		"tools/serve": "#!/bin/sh\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s, err := trust.Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.File("tools/serve"); f == nil || f.Kind != trust.Script {
		t.Errorf("the program is not part of it: %+v", f)
	}
	for _, want := range []trust.Effect{{".attractor/lsp.json", "language server own", "./tools/serve"},
		{".attractor/lsp.json", "language server own", "--stdio"},
		{".attractor/lsp.json", "language server own gets", "A=b"}} {
		if !slices.Contains(s.Effects(), want) {
			t.Errorf("%+v is not shown: %+v", want, s.Effects())
		}
	}
}
