package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/version"
)

func newVersion(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(),
		RunE:  func(*cobra.Command, []string) error { return printVersion(t) },
	}
}

// printVersion prints the version of the program and of Go.
func printVersion(t terminal) error {
	_, err := fmt.Fprintf(t.out, "attractor %s %s/%s %s\n", version.Program(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
	return err
}
