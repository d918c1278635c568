package natsfleet

import (
	"os"
	"testing"

	"github.com/attractor-go/attractor/internal/parallel"
)

// TestMain lets the tests wait beside each other.
func TestMain(m *testing.M) {
	parallel.Tests(8)
	os.Exit(m.Run())
}
