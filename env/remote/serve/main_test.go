package serve

import (
	"testing"

	"github.com/attractor-go/attractor/internal/orphans"
)

func TestMain(m *testing.M) { orphans.Verify(m.Run) }
