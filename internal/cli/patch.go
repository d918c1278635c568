package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/tool/coding"
)

func newPatch(t terminal) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "patch [flags] < <file>",
		Short: "Apply a patch in the v4a format, all or nothing",
		Long: "Patch reads a patch from standard input, in the format of the tool apply_patch, and applies all of it " +
			"or nothing.\nIt prints a line for each change: A, D or M and the path, or R and both paths, and in " +
			"parentheses what the patch did not ask for.",
		Example: "  attractor patch <<'EOF'\n  *** Begin Patch\n  *** Update File: greet.py\n  @@ def greet():\n  -  " +
			"  print(\"Hi\")\n  +    print(\"Hello\")\n  *** End Patch\n  EOF",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := io.ReadAll(io.LimitReader(t.in, maxPiped+1))
			if err != nil {
				return fail(exitFailed, "cannot read the patch: %w", err)
			}
			if len(text) > maxPiped {
				return fail(exitUsage, "the patch has more than %d MiB; apply it in parts", maxPiped>>20)
			}
			local, _, err := openDir(t, dir, env.Limits{}, sandbox.Options{})
			if err != nil {
				return err
			}
			// Applying a patch by hand is an approval of its changes.
			protected := env.Protect(local, env.Protection{Refuse: env.DefaultProtection().Refuse})
			changes, err := coding.Patch(cmd.Context(), protected, string(text))
			if err = errors.Join(err, local.Close()); err != nil {
				return fail(exitFailed, "%w", err)
			}
			for _, c := range changes {
				if _, err := fmt.Fprintln(t.out, c); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "work in this `directory`")
	return cmd
}
