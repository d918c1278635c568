package workspace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
)

// A workspace moves: one worker records a point of it, and another one, in a directory of its own,
// makes it again.
func ExampleNew() {
	ctx := context.Background()
	machines, err := os.MkdirTemp("", "machines-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(machines)
	engine := memfleet.New(memfleet.Options{})
	defer engine.Close()
	space, err := engine.Open(ctx, fleet.DefaultTenant)
	if err != nil {
		log.Fatal(err)
	}
	task := fleet.Task{ID: "fix-1", Prompt: "Write notes."} // Task.Repo would name what to clone

	var last *fleet.WorkspacePoint
	for _, worker := range []string{"anna", "ben"} {
		workspaces, err := workspace.New(workspace.Options{Dir: filepath.Join(machines, worker)})
		if err != nil {
			log.Fatal(err)
		}
		w, err := workspaces.Open(ctx, task, space.Objects, last)
		if err != nil {
			log.Fatal(err)
		}
		files, err := w.Env().ReadDir(ctx, ".")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(worker, "finds", len(files), "files")
		if err := w.Env().WriteFile(ctx, "notes.txt", []byte("Tests are slow.\n"), 0o644); err != nil {
			log.Fatal(err)
		}
		if last, err = w.Point(ctx); err != nil {
			log.Fatal(err)
		}
		if err := w.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// anna finds 0 files
	// ben finds 1 files
}
