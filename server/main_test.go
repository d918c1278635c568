package server_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/orphans"
)

func TestMain(m *testing.M) {
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}
