package cli

import (
	"fmt"
	"io"

	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/worktree"
)

// tellWorktree says what has become of a session's worktree.
func tellWorktree(out io.Writer, w *worktree.Worktree) {
	if w != nil {
		fmt.Fprintln(out, sanitize.Line(w.Outcome()))
	}
}
