package search_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

// losing is an environment whose connection breaks while ignore files are read.
type losing struct{ env.Environment }

func (l losing) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.HasSuffix(name, ".gitignore") {
		return nil, env.ErrLost
	}
	return l.Environment.Open(ctx, name)
}

// An ignore file that a broken connection keeps from being read is not taken for an empty one.
func TestO1_LostIgnoreFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".gitignore": "hidden\n", "hidden": "text\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	if result, err := search.Grep(t.Context(), losing{local}, search.Query{Pattern: "text"}); !errors.Is(err,
		env.ErrLost) {
		t.Errorf("Grep returned %+v, %v", result, err)
	}
}
