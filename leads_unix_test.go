//go:build unix

package attractor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
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
