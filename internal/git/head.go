package git

import (
	"bufio"
	"context"
	"errors"
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
	// CommonDir is the directory that has the refs. In a linked work tree it is another one.
	CommonDir string
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
	h = Head{Dir: repo.GitDir, CommonDir: repo.CommonDir, Text: strings.TrimSpace(string(text))}
	h.Commit = f.commit(ctx, repo.CommonDir, h.Text)
	return h, true
}

// Branch returns the branch that is checked out, or "".
func (h Head) Branch() string {
	ref, _ := RefOf(h.Text)
	return strings.TrimPrefix(ref, "refs/heads/")
}

// RefOf returns the ref that a text such as that of HEAD leads to. A repository that keeps its refs
// in tables has another one there.
func RefOf(text string) (ref string, ok bool) {
	ref, ok = strings.CutPrefix(text, "ref:")
	ref = strings.TrimSpace(ref)
	if !ok || !strings.HasPrefix(ref, "refs/") || path.Clean(ref) != ref || path.Base(ref) == ".invalid" {
		return "", false
	}
	return ref, true
}

// commit returns the id to which the text of HEAD leads, or "".
func (f Files) commit(ctx context.Context, commonDir, text string) string {
	for range 5 { // a ref may refer to another one
		ref, ok := RefOf(text)
		if !ok {
			return id(text)
		}
		text, _ = f.Ref(ctx, commonDir, ref)
	}
	return ""
}

// Ref returns the text of a ref, such as the id of a commit, given the directory that has the refs.
// It is empty if there is no such ref.
func (f Files) Ref(ctx context.Context, commonDir, ref string) (string, error) {
	data, err := f.Read(ctx, path.Join(commonDir, ref))
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	packed, packedErr := f.packed(ctx, commonDir, ref)
	if packed == "" && !missing(err) {
		return "", err
	}
	return packed, packedErr
}

// id returns a text if it is the id of a commit, or "".
func id(text string) string {
	if len(text) != 40 && len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return text
}

// packed returns the id of a ref in packed-refs, or "".
func (f Files) packed(ctx context.Context, commonDir, ref string) (_ string, err error) {
	file, err := f.Env.Open(ctx, path.Join(commonDir, "packed-refs"))
	if missing(err) { // a repository without commits has none
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(io.LimitReader(file, maxPacked))
	for lines.Scan() {
		if value, name, _ := strings.Cut(lines.Text(), " "); name == ref {
			return id(value), nil
		}
	}
	return "", lines.Err()
}
