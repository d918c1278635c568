package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Include is the name of a file at the top of a repository with patterns, as in a .gitignore file.
// Files that match one, and that git ignores, such as .env, are copied into new worktrees. Claude
// Code gave it its name.
const Include = ".worktreeinclude"

// What is copied at most.
const (
	maxCopied = 1000
	maxBytes  = 100 << 20
)

// include copies the ignored files that the repository wants in its worktrees, and returns their
// paths. Links are not followed.
func (w *Worktree) include(ctx context.Context) (copied []string, err error) {
	from, err := os.OpenRoot(w.From)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if info, err := from.Lstat(Include); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	to, err := os.OpenRoot(w.Top)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	listed, err := w.git.output(ctx, w.From, "ls-files", "-z", "--others", "--ignored",
		"--exclude-from="+filepath.Join(w.From, Include))
	if err != nil || listed == "" {
		return nil, err
	}
	ignored, err := w.git.call(ctx, w.From, listed, (*exec.Cmd).Run, "check-ignore", "-z", "--stdin")
	if err != nil { // it fails if there is none
		return nil, nil
	}
	room := int64(maxBytes)
	for name := range strings.SplitSeq(strings.TrimSuffix(ignored, "\x00"), "\x00") {
		if len(copied) == maxCopied {
			return copied, fmt.Errorf("%s names more than %d files", Include, maxCopied)
		}
		done, err := copyFile(from, to, filepath.FromSlash(name), &room)
		if err != nil {
			return copied, err
		}
		if done {
			copied = append(copied, name)
		}
	}
	return copied, nil
}

// copyFile copies a regular file with its permissions, and reports whether it is one. A file that
// is there already stays.
func copyFile(from, to *os.Root, name string, room *int64) (done bool, err error) {
	info, err := from.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if *room -= info.Size(); *room < 0 {
		return false, fmt.Errorf("the files that %s names have more than %d bytes", Include, maxBytes)
	}
	in, err := from.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return err == nil, errors.Join(err, out.Close())
}
