package contain

import (
	"testing"

	"github.com/attractor-go/attractor/internal/orphans"
)

// TestMain fails the package when a process outlives its tests.
func TestMain(m *testing.M) { orphans.Verify(m.Run) }
