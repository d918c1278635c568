package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/worktree"
)

// warn prints a warning for a person, without escape sequences.
func warn(stderr io.Writer, text string) {
	fmt.Fprintln(stderr, "attractor: warning: "+render.Error(text))
}

// openDir opens a working directory, with limits and a sandbox for commands. The caller closes the
// Local and then the Sandbox.
func openDir(t terminal, dir string, limits env.Limits, confine sandbox.Options) (*env.Local, *sandbox.Sandbox, error) {
	local, box, err := attractor.OpenDir(dir, limits, confine)
	if err != nil {
		return nil, nil, hostError(err)
	}
	tellAbandoned(t, local.Abandoned)
	return local, box, nil
}

// tellOpened tells a person on standard error what they should know of a session that was opened.
func tellOpened(t terminal, setup *attractor.Setup) {
	tellAbandoned(t, setup.Abandoned)
	tellElsewhere(t, setup)
	tellUntrusted(t, setup)
	tellNotes(t, setup)
	for _, secret := range setup.Unmasked {
		warn(t.err, secret.Error())
	}
}

// tellAbandoned lists the processes that a killed attractor had left behind. They have been ended.
func tellAbandoned(t terminal, abandoned func() ([]string, error)) {
	ended, err := abandoned()
	for _, line := range ended {
		fmt.Fprintln(t.err, "attractor: ended a process that a killed run had left behind: "+sanitize.Text(line))
	}
	if err != nil {
		warn(t.err, "processes of a killed run may still be running: "+err.Error())
	}
}

// tellElsewhere tells a person that a resumed session works on another machine, which no flag may
// say.
func tellElsewhere(t terminal, setup *attractor.Setup) {
	if command := setup.EnvCommand(); setup.Resumed && len(command) > 0 {
		fmt.Fprintln(t.err, "attractor: the session works behind "+sanitize.Text(shquote.Shown(command...)))
	}
}

// tellPlan tells a person that a resumed session is still in plan mode.
func tellPlan(t terminal, setup *attractor.Setup) {
	if setup.Resumed && setup.Mode() == permit.ModePlan {
		fmt.Fprintln(t.err, "attractor: the session is in plan mode; to leave it, pass another mode, such as "+
			"--mode ask")
	}
}

// tellWorktree says what has become of a session's worktree.
func tellWorktree(out io.Writer, w *worktree.Worktree) {
	if w != nil {
		fmt.Fprintln(out, sanitize.Line(w.Outcome()))
	}
}

// insteadOf returns the flag by which a session whose worktree is removed goes on in the directory
// that the worktree was made from, and "" for one whose directory stays.
func insteadOf(w *worktree.Worktree) string {
	if w == nil || w.Kept != "" {
		return ""
	}
	within, err := filepath.Rel(w.Top, w.Dir)
	if err != nil {
		return ""
	}
	return " --dir " + shquote.Shown(filepath.Join(w.From, within))
}
