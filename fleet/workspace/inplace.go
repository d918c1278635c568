package workspace

import (
	"context"
	"io"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
)

// inPlace is a directory that a task names. It is neither recorded nor removed. It implements
// [fleet.Workspace].
type inPlace struct {
	place *place
	free  func()
}

// Env implements [fleet.Workspace].
func (p *inPlace) Env() env.Environment { return p.place.task }

// Place returns the directory.
func (p *inPlace) Place() (dir string, command []string) { return p.place.dir, nil }

// Confine returns the sandbox of commands.
func (p *inPlace) Confine() sandbox.Options { return p.place.confine }

// Point implements [fleet.Workspace]. The directory is its own record.
func (p *inPlace) Point(context.Context) (*fleet.WorkspacePoint, error) {
	return &fleet.WorkspacePoint{}, nil
}

// Patch implements [fleet.Workspace]. It writes nothing: what the directory had before is unknown,
// and its user has what is there now.
func (p *inPlace) Patch(context.Context, io.Writer) error { return nil }

// Close implements [fleet.Workspace].
func (p *inPlace) Close() error {
	defer p.free()
	return p.place.Close()
}
