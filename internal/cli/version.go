package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(),
		RunE:  func(*cobra.Command, []string) error { return printVersion(t) },
	}
}

func printVersion(t terminal) error {
	_, err := fmt.Fprintf(t.out, "attractor %s %s/%s %s\n", versionText(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}

// versionText returns the version of this program.
func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
