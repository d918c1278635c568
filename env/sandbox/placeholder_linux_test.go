package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that takes the place of a placeholder right before that is moved away stays where it is.
func TestL5_FilesInPlaceOfPlaceholders(t *testing.T) {
	for name, isFile := range map[string]bool{"a file": true, "a directory": false} {
		p := placeholder{path: filepath.Join(t.TempDir(), "config"), file: isFile}
		if err := os.WriteFile(p.path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if done, err := p.putAway(filepath.Join(t.TempDir(), "parked")); !done || err != nil {
			t.Errorf("%s: %v, %v", name, done, err)
		}
		if text, err := os.ReadFile(p.path); string(text) != "mine" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A placeholder is not mistaken for one of an older version that had another kind or content.
func TestL5_ParkedPlaceholdersOfOtherVersions(t *testing.T) {
	names := map[string]bool{}
	for _, p := range []placeholder{{path: "/a"}, {path: "/a", file: true}, {path: "/a", file: true, content: "x"}} {
		names[p.parked("/park")] = true
	}
	if len(names) != 3 {
		t.Error(names)
	}
}
