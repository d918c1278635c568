package instructions

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadUser reads the user's own documents, as far as the files exist, and what they import. The
// imports stay in the home directory and in the directory of the document. The first files of a
// group take the place of the others in it.
func ReadUser(ctx context.Context, home string, groups ...[]string) ([]Document, []Mistake) {
	var l list
	for _, group := range groups {
		for _, file := range group {
			d := Document{Path: filepath.ToSlash(file)}
			from := &userFiles{home: home, dir: filepath.Dir(file)}
			err := from.read(&d)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				l.mistake(d.Path, 0, "it cannot be read: %s", reason(err))
			}
			if err != nil || d.text == "" {
				continue
			}
			if !l.has(&d) {
				l.documents = append(l.documents, d)
				l.follow(ctx, from, &d, 1)
			}
			break
		}
	}
	return l.documents, l.mistakes
}

// userFiles reads the user's own documents.
type userFiles struct{ home, dir string }

// place implements source.
func (u *userFiles) place(by *Document, name string) (file, why string) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if u.home == "" {
			return "", "there is no home directory"
		}
		return filepath.Join(u.home, filepath.FromSlash(rest)), ""
	}
	file = filepath.FromSlash(name)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(filepath.FromSlash(by.Path)), file)
	}
	return file, ""
}

// load implements source. Links are followed before it is known where a file is.
func (u *userFiles) load(_ context.Context, d *Document) error {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(d.Path))
	if err != nil {
		return err
	}
	for _, dir := range []string{u.home, u.dir} {
		if top, err := filepath.EvalSymlinks(dir); err == nil {
			if _, ok := relative(filepath.ToSlash(top), filepath.ToSlash(real)); ok {
				d.Path = filepath.ToSlash(d.Path)
				return u.read(d)
			}
		}
	}
	return errors.New("a user's document imports files in the home directory only")
}

// read reads a document wherever it leads.
func (u *userFiles) read(d *Document) error {
	name := filepath.FromSlash(d.Path)
	info, err := os.Stat(name) // first, because opening a FIFO blocks
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotFile
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	file, err := os.Open(real)
	if err != nil {
		return err
	}
	d.Size, d.real = info.Size(), filepath.ToSlash(real)
	return errors.Join(d.readText(file), file.Close())
}
