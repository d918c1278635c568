package workspace_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env/remote/serve"
)

// helperVar makes the test program the far side of an environment.
const helperVar = "ATTRACTOR_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVar) != "" {
		if err := serve.Standard(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(deadVar); dir != "" {
		fmt.Fprintln(os.Stderr, dieIn(dir))
		os.Exit(1)
	}
	// Hosts that tests kill are noted in a directory of these tests, where no session on this
	// machine ends what they have left.
	dir, err := os.MkdirTemp("", "attractor-runtime-")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}
