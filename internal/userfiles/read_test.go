package userfiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestN8_LinkToNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.json")
	if _, err := ReadSettings(name, 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.Symlink("gone.json", name); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(name, 9); err == nil || errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "gone.json") {
		t.Errorf("a link to nothing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(name), "gone.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadSettings(name, 9); err != nil || string(data) != "{}" {
		t.Errorf("%q, %v", data, err)
	}
}
