package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/worktree"
)

// tellWorktree says what has become of a session's worktree.
func tellWorktree(out io.Writer, w *worktree.Worktree) {
	switch {
	case w == nil:
	case w.Kept == "":
		fmt.Fprintf(out, "The worktree %s is removed: nothing has changed in it.\n", sanitize.Line(w.Top))
	default:
		fmt.Fprintf(out, "The worktree %s stays, on the branch %s: %s.\n", sanitize.Line(w.Top), w.Branch,
			sanitize.Line(w.Kept))
		fmt.Fprintf(out, "To go on in it: --worktree=%s; to remove it, run: git -C %s worktree remove %s\n",
			strings.TrimPrefix(w.Branch, worktree.BranchPrefix), shquote.Shown(w.From), shquote.Shown(w.Top))
	}
}
