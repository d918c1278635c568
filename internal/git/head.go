package git

import (
	"context"
	"encoding/hex"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Head describes what a work tree has checked out.
type Head struct {
	// Dir is the directory that has HEAD and the index of the work tree.
	Dir string
	// Text is the content of HEAD without the line break.
	Text string
	// Commit is the hexadecimal id of the commit to which HEAD leads. It is empty before the first commit, and if it cannot be read.
	Commit string
}

// ReadHead returns what the work tree of e's working directory has checked out. Ok is false without a repository, and if its files cannot
// be read through e.
func ReadHead(ctx context.Context, e env.Environment) (h Head, ok bool) {
	r := open(ctx, e)
	if r == nil || r.gitDir == "" {
		return Head{}, false
	}
	text, err := r.read(ctx, path.Join(r.gitDir, "HEAD"), maxSmall)
	if err != nil {
		return Head{}, false
	}
	h = Head{Dir: r.gitDir, Text: strings.TrimSpace(string(text))}
	if commit, _, ok := r.head(ctx); ok {
		h.Commit = hex.EncodeToString([]byte(commit))
	}
	return h, true
}
