package natsfleet

import (
	"os"
	"testing"

	"github.com/attractor-go/attractor/internal/parallel"
	"github.com/attractor-go/attractor/internal/seed"
)

// TestMain lets the tests wait beside each other.
func TestMain(m *testing.M) {
	parallel.Tests(8)
	seed.Fix() // for journaltest
	os.Exit(m.Run())
}
