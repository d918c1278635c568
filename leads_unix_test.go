//go:build unix

package attractor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/undo"
)

// A session does not go on in what a link has put in the place of its directory, also if its name
// had links before. Somebody who names the directory has chosen it.
func TestU23_ResumedWhereTheDirectoryLeads(t *testing.T) {
	top, home := realTemp(t), realTemp(t)
	link := filepath.Join(realTemp(t), "link")
	if err := errors.Join(os.Mkdir(filepath.Join(top, "sub"), 0o700), os.Symlink(top, link)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(top, "sub"), filepath.Join(link, "sub")} {
		b := newTeam(t, nil, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"})
		b.config.Dir = dir
		var id string
		submit := func(_ *Setup, session *agent.Session) {
			id = session.ID()
			if _, err := session.Submit(t.Context(), "go on"); err != nil {
				t.Error(err)
			}
		}
		b.open(submit)
		b.config.Resume, b.config.Dir = id, ""
		b.open(submit) // as it was

		moved := filepath.Join(top, "moved")
		if err := errors.Join(os.Rename(filepath.Join(top, "sub"), moved),
			os.Symlink(home, filepath.Join(top, "sub"))); err != nil {
			t.Fatal(err)
		}
		setup, err := prepare(t.Context(), b.config)
		if err == nil {
			err = setup.Close()
			t.Errorf("%s leads elsewhere, and the session goes on, %v", dir, err)
		} else if !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), "it leads to "+home+" now, and led to "+top+"/sub") {
			t.Error(err)
		}
		b.config.Dir = dir
		b.open(submit)
		b.config.Dir = ""
		b.open(submit) // where it was named

		if err := errors.Join(os.Remove(filepath.Join(top, "sub")),
			os.Rename(moved, filepath.Join(top, "sub"))); err != nil {
			t.Fatal(err)
		}
		if setup, err = prepare(t.Context(), b.config); err == nil {
			t.Errorf("%s leads back, and the session goes on, %v", dir, setup.Close())
		}
	}
}

// An undo in a session puts nothing back where a link leads that has taken the place of its
// directory meanwhile.
func TestO4_UndoInASessionWhereTheDirectoryLeads(t *testing.T) {
	top, hooks := realTemp(t), realTemp(t)
	dir := filepath.Join(top, "sub")
	if err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "pre-commit"), nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	b := newTeam(t, nil, calls(t, "shell", object{"command": "rm pre-commit"}), fakellm.Turn{Text: "done"})
	b.config.Dir, b.config.Mode, b.config.Checkpoints = dir, permit.ModeFull, t.TempDir()
	b.open(func(setup *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "tidy up"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Rename(dir, filepath.Join(top, "moved")), os.Symlink(hooks, dir)); err != nil {
			t.Fatal(err)
		}
		_, err := setup.Undo(t.Context(), undo.Options{}, 1,
			func(_ context.Context, plan UndoPlan) (bool, error) { return true, nil })
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "leads to "+hooks+" now") {
			t.Error(err)
		}
	})
	if list, err := os.ReadDir(hooks); err != nil || len(list) > 0 {
		t.Errorf("there is %v, %v", list, err)
	}
}
