package mcptest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/parallel"
)

// role is the environment variable that turns the test binary into another program.
const role = "MCPTEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		os.Exit(play(context.Background(), name))
	}
	orphans.Adopt()
	parallel.Tests(8)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// play runs the test binary as another program and returns its exit code.
func play(ctx context.Context, name string) int {
	program := programs()[name]
	if program == nil {
		fmt.Fprintln(os.Stderr, "there is no role", name)
		return 3
	}
	if err := program(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
