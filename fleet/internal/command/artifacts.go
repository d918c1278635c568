package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
)

func (p *program) artifacts() *cobra.Command {
	var f clientFlags
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "artifacts [flags] <id> [name]",
		Short: "List and download what a task has left",
		Long: `Artifacts lists what a task has left: patch is what it has changed in a repository, and the others are files of its workspace. With a name it
writes that one to standard output, and with --out all into a directory, as batch does.

` + connectHelp,
		Example: `  attractor-fleet artifacts fix-1
  attractor-fleet artifacts fix-1 patch | git apply
  attractor-fleet artifacts fix-1 --out results`,
		Args: oneOrTwo,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && out != "" {
				return cli.Usage(cmd, errors.New("pass a name or --out"))
			}
			return f.connected(cmd.Context(), func(c *connection) error {
				if len(args) > 1 {
					return taskError(p.download(cmd.Context(), c, args[0], args[1]))
				}
				return taskError(p.listArtifacts(cmd.Context(), c, args[0], out, asJSON))
			})
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "write all of them, and the session, into this `directory`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each as a line of JSON, with name, size and hash")
	return cmd
}

// download writes an artifact to standard output.
func (p *program) download(ctx context.Context, c *connection, id, name string) error {
	r, err := c.Artifact(ctx, id, name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, _, err := c.space.Tasks.Get(ctx, id); err != nil {
			return err
		}
		return cli.Fail(cli.ExitUsage,
			"the task %s has left no %q; to see what it has left so far, run: attractor-fleet artifacts %s", id, name,
			id)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(p.out, r)
	return errors.Join(err, r.Close())
}

// listArtifacts lists what a task has left, and writes it into a directory if there is one.
func (p *program) listArtifacts(ctx context.Context, c *connection, id, out string, asJSON bool) error {
	_, s, err := c.space.Tasks.Get(ctx, id)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeAll(ctx, c.space, s, out); err != nil {
			return cli.Fail(cli.ExitFailed, "%w", err)
		}
	}
	for _, a := range s.Artifacts {
		if asJSON {
			err = p.printJSON(a)
		} else {
			_, err = fmt.Fprintf(p.out, "%12d  %s\n", a.Size, render.OneLine(a.Name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes what a task has left into a directory.
func writeAll(ctx context.Context, space *fleet.Space, s fleet.Status, dir string) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r, err := openResults(dir, space)
	if err != nil {
		return err
	}
	_, err = r.write(ctx, s)
	return errors.Join(err, r.close())
}
