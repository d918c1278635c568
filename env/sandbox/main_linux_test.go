package sandbox_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/parallel"
	"github.com/attractor-go/attractor/internal/peer"
)

// TestMain fails if a process or a goroutine outlives the package's tests.
func TestMain(m *testing.M) {
	orphans.Adopt()
	parallel.Tests(8)
	skipExample()
	code := m.Run()
	if err := removePrograms(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(orphans.Check(code))
}

// skipExample leaves the example out, which cannot skip itself, if this machine has no sandbox.
func skipExample() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		return // the example fails
	}
	defer os.RemoveAll(dir)
	box, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace})
	if err == nil {
		err = box.Close()
	}
	if errors.Is(err, errors.ErrUnsupported) && os.Getenv(peer.Required) == "" {
		fmt.Fprintln(os.Stderr, "Example is skipped:", err)
		flag.Parse()
		err = flag.Set("test.skip", "^Example$")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
