package protocol

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// Images of people have the types and the size that models accept.
func TestN8_ModesImages(t *testing.T) {
	png := llmtest.PNG + " and so on"
	dir := t.TempDir()
	for name, content := range map[string]string{"a.png": png, "a.txt": "text", "big.png": png + strings.Repeat("x",
		32<<20)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := ReadImage(filepath.Join(dir, "a.png")); err != nil || m.MIME != "image/png" || string(m.Data) != png ||
		m.Name != "a.png" {
		t.Errorf("%+v, %v", m, err)
	}
	for name, want := range map[string]string{"a.txt": "not a PNG", "big.png": "larger than 32 MiB",
		"none.png": "no such file", ".": "not a regular file"} {
		if _, err := ReadImage(filepath.Join(dir, name)); !errors.Is(err, attractor.ErrConfig) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := base64.StdEncoding.EncodeToString([]byte(png + strings.Repeat("x", 32<<20)))
	encoded := base64.StdEncoding.EncodeToString([]byte(png))
	for _, mime := range []string{"image/png", ""} {
		if m, err := decodeImage(mime, encoded); err != nil || string(m.Data) != png {
			t.Errorf("%+v, %v", m, err)
		}
	}
	for want, c := range map[string][2]string{"not in Base64": {"image/png", "*"}, "it is image/png": {"image/gif",
		encoded}, "not a PNG": {"", "aGVsbG8="}, "larger than 32 MiB": {"", large}} {
		if _, err := decodeImage(c[0], c[1]); !errors.Is(err, attractor.ErrConfig) || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
