//go:build unix

package llm_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// A pipe without a writer is refused immediately.
func TestI17_FilePartOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	for path, want := range map[string]string{path: "a pipe", "/dev/null": "a device"} {
		if _, err := llm.FilePart(path); !errors.Is(err, llm.ErrInvalidRequest) || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%v", err)
		}
	}
}
