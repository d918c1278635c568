package mcp

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/parallel"
)

// role is the environment variable that turns the test binary into a server.
const role = "MCP_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		serve := roles()[name]
		if serve == nil {
			fmt.Fprintln(os.Stderr, "there is no role", name)
			os.Exit(3)
		}
		if err := serve(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	orphans.Adopt()
	parallel.Tests(8)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}
