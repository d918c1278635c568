package contain

import (
	"testing"

	"github.com/attractor-go/attractor/internal/orphans"
)

// TestMain fails if a process outlives the package's tests.
func TestMain(m *testing.M) { orphans.Verify(m.Run) }
