package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/version"
)

// fleetProgram is the name of the program that attractor fleet runs. It is a module of its own, so
// that attractor links no servers.
const fleetProgram = "attractor-fleet"

func newFleet() *cobra.Command {
	return &cobra.Command{
		Use:   "fleet <command> [flags]",
		Short: "Run many tasks, here or on many machines",
		Long: `Fleet runs many tasks, each a session of its own: those of a file on this machine, or those of a queue on many machines. It runs the program
attractor-fleet, which is installed separately, in the version of this program. If it is missing, the command says how.

attractor fleet --help lists its commands.`,
		Example: `  attractor fleet batch tasks.jsonl --yes
  attractor fleet submit --id fix-1 --repo https://github.com/acme/shop "fix the failing test"
  attractor fleet watch fix-1`,
		DisableFlagParsing: true, // they are the program's
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findFleet()
			if err != nil {
				return err
			}
			err = become(path, append([]string{fleetProgram}, args...))
			if err != nil && !errors.As(err, new(*exitError)) {
				return fail(exitFailed, "cannot run %s: %w", path, err)
			}
			return err
		},
	}
}

// findFleet returns the path of the program: beside this one, or in PATH.
func findFleet() (string, error) {
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), fleetProgram)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(fleetProgram)
	if err != nil {
		return "", fail(exitUsage, "the program %s is neither beside this one nor in PATH; to install it, run:\n%s",
			fleetProgram, version.Install("fleet/cmd/"+fleetProgram))
	}
	return filepath.Abs(path)
}
