package git

import (
	"bufio"
	"context"
	"io"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// maxPacked is how many bytes of packed-refs are searched.
const maxPacked = 64 << 20

// Head describes what a work tree has checked out.
type Head struct {
	// Dir is the directory that has HEAD and the index of the work tree.
	Dir string
	// Text is the content of HEAD without the line break.
	Text string
	// Commit is the hexadecimal id of the commit to which HEAD leads. It is empty before the first
	// commit, and if it cannot be read.
	Commit string
}

// ReadHead returns what the work tree of e's working directory has checked out. Ok is false without
// a repository, and if its files cannot be read through e.
func ReadHead(ctx context.Context, e env.Environment) (h Head, ok bool) {
	f := Files{Env: e}
	repo := f.nearest(ctx)
	if repo == nil || repo.GitDir == "" {
		return Head{}, false
	}
	text, err := f.Read(ctx, path.Join(repo.GitDir, "HEAD"))
	if err != nil {
		return Head{}, false
	}
	h = Head{Dir: repo.GitDir, Text: strings.TrimSpace(string(text))}
	h.Commit = f.commit(ctx, repo, h.Text)
	return h, true
}

// Branch returns the branch that is checked out, or "".
func (h Head) Branch() string {
	ref, _ := refOf(h.Text)
	return strings.TrimPrefix(ref, "refs/heads/")
}

// refOf returns the ref that a text such as that of HEAD leads to. A repository that keeps its refs
// in tables has another one there.
func refOf(text string) (ref string, ok bool) {
	ref, ok = strings.CutPrefix(text, "ref:")
	ref = strings.TrimSpace(ref)
	if !ok || !strings.HasPrefix(ref, "refs/") || path.Clean(ref) != ref || path.Base(ref) == ".invalid" {
		return "", false
	}
	return ref, true
}

// commit returns the id to which the text of HEAD leads, or "".
func (f Files) commit(ctx context.Context, repo *Repository, text string) string {
	for range 5 { // a ref may refer to another one
		ref, ok := refOf(text)
		if !ok {
			return id(text)
		}
		data, err := f.Read(ctx, path.Join(repo.CommonDir, ref))
		if err != nil {
			return f.packed(ctx, repo, ref)
		}
		text = strings.TrimSpace(string(data))
	}
	return ""
}

// id returns a text if it is the id of a commit, or "".
func id(text string) string {
	if len(text) != 40 && len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return text
}

// packed returns the id of a ref in packed-refs, or "".
func (f Files) packed(ctx context.Context, repo *Repository, ref string) string {
	file, err := f.Env.Open(ctx, path.Join(repo.CommonDir, "packed-refs"))
	if err != nil {
		return "" // a repository without commits has none
	}
	defer file.Close() // it was only read
	for lines := bufio.NewScanner(io.LimitReader(file, maxPacked)); lines.Scan(); {
		if value, name, _ := strings.Cut(lines.Text(), " "); name == ref {
			return id(value)
		}
	}
	return ""
}
