package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Files reads the files of repositories.
type Files struct {
	Env env.Environment
	// Outside returns the content of a file that Env does not open. Nil means that it is not known.
	// Its errors wrap fs.ErrNotExist like those of Env.
	Outside func(ctx context.Context, name string) ([]byte, error)
}

// Repository holds the directories of a repository. They have no links in them.
type Repository struct {
	Top       string
	GitDir    string // of the work tree, with its HEAD and index
	CommonDir string // of all work trees
}

// Find finds the repository that git would use in a directory: the nearest one, going up. It
// returns why that is not known, or why it is not one that git would use without fail.
func (f Files) Find(ctx context.Context, dir string) (*Repository, string) {
	dir, err := env.Resolve(ctx, f.Env, dir)
	if err != nil {
		return nil, "it is not known which repository git would use: " + err.Error()
	}
	for {
		repo, why := f.findAt(ctx, dir)
		if repo != nil || why != "" {
			return repo, why
		}
		if dir == path.Dir(dir) || ctx.Err() != nil {
			return nil, "there is no repository here that could be checked"
		}
		dir = path.Dir(dir)
	}
}

// findAt returns the repository whose top is a directory. Anything unusual is refused, because
// git may take it for a repository, or look on: if .git is a directory but no repository to git,
// the directory itself may be a bare one, and then those above it.
func (f Files) findAt(ctx context.Context, dir string) (*Repository, string) {
	_, err := f.Lstat(ctx, dir, "HEAD") // first, because git needs it in every repository
	beside := err == nil
	if err != nil && !missing(err) {
		return nil, "it is not known whether " + dir + " is a repository"
	}
	info, err := f.Env.Stat(ctx, path.Join(dir, ".git"))
	switch {
	case missing(err) && beside:
		return nil, dir + " may be a repository without a work tree, because it has a HEAD"
	case missing(err):
		return nil, ""
	case err != nil:
		return nil, "it is not known whether " + dir + " is a repository"
	}
	repo, why := f.dotGit(ctx, dir, info)
	if why == "" {
		why = f.broken(ctx, repo)
	}
	if beside {
		return nil, strings.TrimPrefix(why+"; ", "; ") + "there is HEAD beside .git in " + dir +
			", which git uses if .git is broken"
	}
	return repo, why
}

// dotGit returns the repository of a .git file or directory. Its directories have no links in them,
// so that names in them can be joined.
func (f Files) dotGit(ctx context.Context, dir string, info env.Info) (_ *Repository, why string) {
	dotGit := path.Join(dir, ".git")
	unknown := "it is not known which repository " + dotGit + " leads to"
	name := dotGit
	switch {
	case info.Mode.IsRegular():
		text, err := f.Read(ctx, dotGit)
		target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if err != nil || !ok || target != strings.TrimSpace(target) { // git keeps spaces
			return nil, unknown
		}
		name = joined(dir, target)
	case !info.IsDir():
		return nil, dotGit + " is neither a file nor a directory"
	}
	repo := &Repository{Top: dir}
	var err error
	if repo.GitDir, err = env.Resolve(ctx, f.Env, name); err != nil {
		return nil, unknown
	}
	repo.CommonDir = repo.GitDir
	common, err := f.Read(ctx, path.Join(repo.GitDir, "commondir"))
	if missing(err) {
		return repo, ""
	}
	target := strings.TrimRight(string(common), "\r\n")
	if err != nil || target != strings.TrimSpace(target) {
		return nil, unknown
	}
	if repo.CommonDir, err = env.Resolve(ctx, f.Env, joined(repo.GitDir, target)); err != nil {
		return nil, unknown
	}
	return repo, ""
}

// leadsNowhere reports whether the file .git in a directory names none that exists, so that git
// fails there.
func (f Files) leadsNowhere(ctx context.Context, dir string) bool {
	text, err := f.Read(ctx, path.Join(dir, ".git"))
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || strings.Contains(target, "\x00") {
		return false
	}
	there, err := f.Exists(ctx, joined(dir, target))
	return !ok || !there && err == nil
}

// broken returns why git may not take the directories for those of a repository, as
// is_git_directory in git's setup.c does.
func (f Files) broken(ctx context.Context, repo *Repository) string {
	info, err := f.Lstat(ctx, repo.GitDir, "HEAD")
	if err != nil || !info.Mode.IsRegular() {
		return repo.GitDir + " is not a repository: it has no file HEAD"
	}
	if head, err := f.Read(ctx, path.Join(repo.GitDir, "HEAD")); err != nil || !validHead(string(head)) {
		return repo.GitDir + " is not a repository: its HEAD is neither a branch nor a commit"
	}
	// commondir may be a link to a file with secrets, so what it names is not told
	none := repo.GitDir + " is not a repository: it, or what its commondir names, has no directory "
	for _, parts := range [][2]string{{"objects", "info"}, {"refs", "heads"}} {
		name, in := parts[0], parts[1]
		dir := path.Join(repo.CommonDir, name)
		info, err := f.Env.Stat(ctx, dir)
		if err != nil || !info.IsDir() {
			return none + name
		}
		if _, err := f.Exists(ctx, path.Join(dir, in)); err != nil { // git wants the right to look for files in it
			return none + name
		}
	}
	return ""
}

// validHead reports whether a file HEAD names a ref or a commit. No file can have a longer name.
func validHead(text string) bool {
	const longest = 4096
	if len(text) > longest {
		return false
	}
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\r\n"), "refs/")
	}
	return len(text) >= 40 && strings.Trim(text[:40], "0123456789abcdef") == ""
}

// Lstat describes a file in a directory, a symbolic link itself.
func (f Files) Lstat(ctx context.Context, dir, name string) (env.Info, error) {
	node, err := env.TreeOf(f.Env).Lstat(ctx, path.Join(dir, name))
	if !errors.Is(err, errors.ErrUnsupported) {
		return node.Info, err
	}
	list, err := f.Env.ReadDir(ctx, dir)
	if err != nil {
		return env.Info{}, err
	}
	for _, info := range list {
		if info.Name == name {
			return info, nil
		}
	}
	return env.Info{}, fs.ErrNotExist
}

// Read returns the content of a file, or fs.ErrNotExist. Other errors mean that the content is not
// known.
func (f Files) Read(ctx context.Context, name string) ([]byte, error) {
	return f.readUpTo(ctx, name, maxFile)
}

// maxFile is how many bytes of a file are read.
const maxFile = 1 << 20

func (f Files) readUpTo(ctx context.Context, name string, limit int64) (data []byte, err error) {
	file, err := f.Env.Open(ctx, name)
	switch {
	case err == nil:
		data, err = io.ReadAll(io.LimitReader(file, limit+1))
		err = errors.Join(err, file.Close())
	case f.Outside != nil && !missing(err):
		data, err = f.Outside(ctx, name)
	}
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// Exists reports whether there is a file.
func (f Files) Exists(ctx context.Context, name string) (bool, error) {
	_, err := f.Env.Stat(ctx, name)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// joined returns a path for a name in a directory. It keeps .., because a link may be in front of
// it.
func joined(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}
