package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/filelock"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
)

// results writes what tasks have left into a directory:
//
//	results.jsonl                 a line for each task
//	tasks/ID/session.jsonl        the session, in the format of package journal
//	tasks/ID/changes.patch        what the task has changed
//	tasks/ID/artifacts/...        files of the workspace
type results struct {
	dir   string
	root  *os.Root // nothing is written outside of dir, whatever artifacts are called
	space *fleet.Space
}

// resultLine is a line of results.jsonl.
type resultLine struct {
	fleet.Status
	Done bool `json:"done"` // the task is done as it was asked for
	// Agent is what the session began with, if it has begun.
	Agent *begunWith `json:"agent,omitempty"`
	// Patch, Files and Session are relative to the directory of the results.
	Patch   string   `json:"patch,omitempty"`
	Files   []string `json:"files,omitempty"`
	Session string   `json:"session,omitempty"`
}

// begunWith says what a session began with: what the task names, and otherwise what the flags, the
// settings and the provider choose.
type begunWith struct {
	Profile  string `json:"profile,omitempty"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
}

// openResults makes the directory.
func openResults(dir string, space *fleet.Space) (*results, error) {
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &results{dir: dir, root: root, space: space}, nil
}

func (r *results) close() error { return r.root.Close() }

// patchName is the name of the artifact that has what a task has changed.
const patchName = "patch"

// remove removes the results of tasks of an earlier run.
func (r *results) remove(ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, r.root.RemoveAll(path.Join("tasks", id)))
	}
	return errors.Join(errs...)
}

// write writes what a task has left, and returns its line. What an earlier run has written stays.
func (r *results) write(ctx context.Context, s fleet.Status) (resultLine, error) {
	line := resultLine{Status: s, Done: succeeded(s)}
	dir := path.Join("tasks", s.ID)
	session := path.Join(dir, "session.jsonl")
	var errs []error
	for _, a := range s.Artifacts {
		name := path.Join(dir, "artifacts", a.Name)
		if a.Name == patchName {
			name = path.Join(dir, "changes.patch")
		}
		if err := r.fetch(ctx, s.ID, a.Name, name); err != nil {
			errs = append(errs, fmt.Errorf("%s of task %s: %w", a.Name, s.ID, err))
			continue
		}
		if a.Name == patchName {
			line.Patch = name
		} else {
			line.Files = append(line.Files, name)
		}
	}
	_, err := r.root.Stat(session)
	if err != nil {
		err = r.put(session, func(w io.Writer) error {
			return r.session(ctx, s.ID, func(records iter.Seq2[journal.Record, error]) error {
				return writeRecords(w, records)
			})
		})
	}
	switch {
	case err == nil:
		line.Session = session
		if line.Agent, err = r.begun(ctx, s.ID); err != nil {
			errs = append(errs, fmt.Errorf("the session of task %s: %w", s.ID, err))
		}
	case !errors.Is(err, fs.ErrNotExist): // the task never began
		errs = append(errs, fmt.Errorf("the session of task %s: %w", s.ID, err))
	}
	return line, errors.Join(errs...)
}

// fetch writes an artifact, unless it is there.
func (r *results) fetch(ctx context.Context, id, artifact, name string) error {
	if !filepath.IsLocal(filepath.FromSlash(artifact)) {
		return errors.New("its name leads out of the directory")
	}
	if _, err := r.root.Stat(name); err == nil {
		return nil
	}
	from, err := fleet.NewClient(r.space).Artifact(ctx, id, artifact)
	if err != nil {
		return err
	}
	defer from.Close() // it was only read
	return r.put(name, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// session calls read with the records of a session.
func (r *results) session(ctx context.Context, id string, read func(iter.Seq2[journal.Record, error]) error) error {
	log, err := r.space.Journals.Read(ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(read(log.Records(ctx, 1)), log.Close())
}

// writeRecords writes the lines of a session.
func writeRecords(w io.Writer, records iter.Seq2[journal.Record, error]) error {
	var line []byte
	for record, err := range records {
		if err == nil {
			line, err = journal.AppendLine(line[:0], record, false)
		}
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begun returns what a session began with, or nil if it has not begun.
func (r *results) begun(ctx context.Context, id string) (with *begunWith, err error) {
	err = r.session(ctx, id, func(records iter.Seq2[journal.Record, error]) error {
		o, err := agent.ReadOpening(records)
		if err == nil && o.ID != "" {
			with = &begunWith{Profile: o.Profile, Provider: o.Provider, Model: o.Model, Effort: o.Effort}
		}
		return err
	})
	return with, err
}

// put writes a file, whole or not at all.
func (r *results) put(name string, write func(io.Writer) error) error {
	if err := r.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	temp := name + ".new"
	f, err := r.root.Create(temp)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = r.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, r.root.Remove(temp))
	}
	return nil
}

// prediction is a line for the harness of SWE-bench, which judges patches by itself.
type prediction struct {
	ID    string `json:"instance_id"`
	Model string `json:"model_name_or_path"`
	Patch string `json:"model_patch"`
}

// predictions writes predictions.jsonl.
func (r *results) predictions(lines []resultLine, model string) error {
	var list []prediction
	for _, line := range lines {
		p := prediction{ID: line.ID, Model: model}
		if line.Patch != "" {
			patch, err := r.root.ReadFile(line.Patch)
			if err != nil {
				return fmt.Errorf("the patch of task %s: %w", line.ID, err)
			}
			p.Patch = string(patch)
		}
		list = append(list, p)
	}
	return putLines(r, "predictions.jsonl", list)
}

// putLines writes values as lines of JSON into a file.
func putLines[T any](r *results, name string, values []T) error {
	return r.put(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *program) artifacts() *cobra.Command {
	var out string
	var asJSON bool
	cmd := p.client(&cobra.Command{
		Use:   "artifacts [flags] <id> [name]",
		Short: "List and download what a task has left",
		Long: `Artifacts lists what a task has left: patch is what it has changed in a repository, and the others are files of its workspace. With a name it
writes that one to standard output, and with --out all into a directory, as batch does.`,
		Example: `  attractor-fleet artifacts fix-1
  attractor-fleet artifacts fix-1 patch | git apply
  attractor-fleet artifacts fix-1 --out results`,
		Args: takes(1, "the id of the task", "the name"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && out != "" {
				return cli.Usage(cmd, errors.New("pass a name or --out"))
			}
			return nil
		},
	}, func(ctx context.Context, c *connection, args []string) error {
		if len(args) > 1 {
			return p.download(ctx, c, args[0], args[1])
		}
		return p.listArtifacts(ctx, c, args[0], out, asJSON)
	})
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
		if err := p.print(asJSON, a, fmt.Sprintf("%12d  %s", a.Size, render.OneLine(a.Name))); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes what a task has left into a directory.
func writeAll(ctx context.Context, space *fleet.Space, s fleet.Status, dir string) (err error) {
	if err := cli.NoLink(dir); err != nil {
		return err
	}
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

// lockName is the name of the lock of a directory.
const lockName = "lock"

// lockDir takes the lock of a directory, which ends with the process, and returns a function that
// ends it before.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.TryLock(f, filelock.Exclusive); err != nil {
		f.Close() // nothing was written to it
		if errors.Is(err, filelock.ErrLocked) {
			err = fmt.Errorf("another batch is running in %s: wait for it, or pass another directory with --out", dir)
		}
		return nil, err
	}
	return func() { f.Close() }, nil // nothing was written to it
}
