package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/orphans"
)

// TestMain fails if a process or a goroutine outlives the package's tests.
func TestMain(m *testing.M) {
	orphans.Adopt()
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
