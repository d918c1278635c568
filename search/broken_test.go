package search_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/search"
)

// broken is an environment that calls bad for one file or directory.
type broken struct {
	env.Environment
	at  string
	bad func()
}

func (b broken) check(name string) {
	if strings.HasSuffix(name, b.at) {
		b.bad()
	}
}

func (b broken) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	b.check(name)
	return b.Environment.ReadDir(ctx, name)
}

func (b broken) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	b.check(name)
	return b.Environment.Open(ctx, name)
}

// A panic of the environment on a goroutine of a search reaches the caller's goroutine, where it
// can be recovered.
func TestI7_BrokenEnvironment(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 { // more than are walked and searched at the same time
		name := filepath.Join(dir, fmt.Sprintf("d%02d", i))
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, fmt.Sprintf("f%02d.txt", i)), []byte("needle\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for _, at := range []string{"/d00", "/d07", "/d11", "/f00.txt", "/f11.txt"} {
		for name, bad := range map[string]func(){"panic": func() { panic("broken") }, "Goexit": runtime.Goexit} {
			t.Run(at+" "+name, func(t *testing.T) {
				err := guard.Run("the tool", func() error {
					_, err := search.Grep(context.Background(), broken{local, at, bad}, search.Query{Pattern: "needle"})
					return err
				})
				if p, ok := err.(*guard.Panic); !ok || !strings.Contains(p.Stack, "broken_test.go") {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}
