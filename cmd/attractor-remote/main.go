package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/attractor-go/attractor/env/remote/serve"
)

// exitUsage is the exit code for a wrong command line.
const exitUsage = 2

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run serves this machine on the standard streams until they end, or says which protocol it speaks,
// and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var err error
	switch {
	case slices.Equal(args, []string{"serve"}):
		err = serve.Standard(context.Background())
	case slices.Equal(args, []string{"serve", "--protocol"}):
		_, err = fmt.Fprintln(stdout, serve.Protocol())
	default:
		fmt.Fprintln(stderr, "usage: attractor-remote serve [--protocol]\nAttractor runs this program on other "+
			"machines; see attractor run --help.")
		return exitUsage
	}
	if err != nil {
		fmt.Fprintf(stderr, "attractor-remote: %v\n", err)
		return 1
	}
	return 0
}
