package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/attractor-go/attractor/env"
)

// patchName is the name of the artifact with what the task has changed.
const patchName = "patch"

// artifactName returns the name of the object that holds an artifact.
func artifactName(task, name string) string { return "artifacts/" + task + "/" + name }

// The bounds of a task's artifacts. Files beyond them are not stored, and the status says so.
const (
	mostArtifacts     = 500
	mostArtifactBytes = 1 << 30
	mostLooked        = 200_000 // files and directories that are visited
	collectTime       = 10 * time.Minute
)

// collection gathers the artifacts of a task.
type collection struct {
	job     *Job
	env     env.Environment
	found   []Artifact
	missing string // why some were not stored, or empty
	bytes   int64
	looked  int
}

// collect stores the artifacts of the task: its patch, and the files that match its patterns. It
// returns them, and why some are missing, or "".
func (j *Job) collect() (found []Artifact, missing string) {
	ctx, cancel := context.WithTimeout(j.worker.life, collectTime)
	defer cancel()
	c := &collection{job: j, env: j.Workspace.Env()}
	if err := c.patch(ctx); err != nil {
		c.omit("the patch", err)
	}
	if len(j.Task.Artifacts) > 0 {
		if err := c.walk(ctx, "."); err != nil {
			c.omit("files", err)
		}
	}
	return c.found, c.missing
}

// omit notes why something is missing. The first reason is kept.
func (c *collection) omit(what string, err error) {
	c.job.log.Warn("artifacts missing", "what", what, "error", err)
	if c.missing == "" {
		c.missing = fmt.Sprintf("not all artifacts were stored: %s: %v", what, err)
	}
}

// patch stores the patch, unless nothing was changed.
func (c *collection) patch(ctx context.Context) error {
	patch := func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { // ends with ctx, or when r is closed
			err := careful("Workspace.Patch", func() error { return c.job.Workspace.Patch(ctx, w) })
			_ = w.CloseWithError(err) // it returns no error
		}()
		return r, nil
	}
	return c.store(ctx, patchName, patch)
}

// walk stores the files below dir that match a pattern. It does not follow links.
func (c *collection) walk(ctx context.Context, dir string) error {
	infos, err := c.env.ReadDir(ctx, dir)
	if err != nil { // the other directories may be readable
		c.omit(dir, err)
		return ctx.Err()
	}
	for _, info := range infos {
		name := path.Join(dir, info.Name)
		if c.looked++; c.looked > mostLooked {
			return fmt.Errorf("the workspace has more than %d files", mostLooked)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case info.IsDir() && info.Name != ".git":
			err = c.walk(ctx, name)
		case info.Mode.IsRegular() && c.wanted(name):
			err = c.file(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether a file matches a pattern of the task.
func (c *collection) wanted(name string) bool {
	for _, p := range c.job.Task.Artifacts {
		if doublestar.MatchUnvalidated(path.Clean(p), name) {
			return true
		}
	}
	return false
}

// file stores one file.
func (c *collection) file(ctx context.Context, name string) error {
	if len(c.found) >= mostArtifacts {
		return fmt.Errorf("the task's patterns name more than %d", mostArtifacts)
	}
	as := name
	if name == patchName {
		as = "./" + name
	}
	err := c.store(ctx, as, func() (io.ReadCloser, error) { return c.env.Open(ctx, name) })
	if err != nil {
		c.omit(name, err)
	}
	return ctx.Err()
}

// store stores one artifact, unless it is an empty patch.
func (c *collection) store(ctx context.Context, name string, open func() (io.ReadCloser, error)) (err error) {
	if err := c.job.gate.check(); err != nil { // the next owner may be storing the same names
		return err
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer func() {
		if closed := content.Close(); err == nil && closed != nil {
			err = closed
		}
	}()
	bounded := bufio.NewReader(&bounded{content, mostArtifactBytes - c.bytes})
	if _, err := bounded.Peek(1); err == io.EOF && name == patchName {
		return nil
	}
	stored, err := c.job.Space.Objects.Put(ctx, artifactName(c.job.Task.ID, name), bounded)
	if err != nil {
		return err
	}
	stored.Name = name
	c.bytes += stored.Size
	c.found = append(c.found, stored)
	return nil
}

// bounded is a reader that fails after left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the artifacts of the task have more than %d bytes: %w", int64(mostArtifactBytes),
			fs.ErrInvalid)
	}
	return n, err
}
