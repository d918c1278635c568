package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// maxSuggestions limits the similar names that an error suggests.
const maxSuggestions = 3

// cleanPath returns a path for Access: the same for the same file, as far as that is known without
// the file system.
func cleanPath(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// explainOpen returns an error that tells the model why a file could not be opened and what to do.
func (d Dialect) explainOpen(ctx context.Context, e env.Environment, name string, err error) error {
	if name == "" {
		return d.noPath()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return d.explainMissing(ctx, e, name)
	}
	if info, statErr := e.Stat(ctx, name); statErr == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory, not a file; %s, and read one of its files", texts.Shown(name),
			d.howToList())
	}
	return d.explainPath(ctx, e, name, err)
}

// noPath returns the error for an empty path.
func (d Dialect) noPath() error {
	return fmt.Errorf("%s is empty; give the path of a file", d.word("read_file.file_path"))
}

// explainPath returns an error with advice for a path that leads through a file, and any other
// error unchanged.
func (d Dialect) explainPath(ctx context.Context, e env.Environment, name string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if info, statErr := e.Stat(ctx, dir); statErr == nil && !info.IsDir() {
				return fmt.Errorf("%s cannot be there, because %s is a file, not a directory; check the path",
					texts.Shown(name), texts.Shown(dir))
			}
		}
	}
	return err
}

// explainMissing returns the error for a file that does not exist. It suggests files with similar
// names.
func (d Dialect) explainMissing(ctx context.Context, e env.Environment, name string) error {
	near, err := similarNames(ctx, e, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist, and neither does its directory %s; %s", texts.Shown(name),
			texts.Shown(path.Dir(name)), d.howToFind())
	case err != nil:
		return fmt.Errorf("%s does not exist; check the path, or %s", texts.Shown(name), d.howToFind())
	case len(near) == 0:
		return fmt.Errorf("%s does not exist; %s", texts.Shown(name), d.howToFind())
	}
	return fmt.Errorf("%s does not exist; did you mean %s?", texts.Shown(name), strings.Join(near, " or "))
}

// similarNames returns the files in a missing file's directory with the most similar names, as
// results show them.
func similarNames(ctx context.Context, e env.Environment, name string) ([]string, error) {
	dir := path.Dir(name)
	infos, err := e.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	near := nearNames(path.Base(name), infos)
	for i, n := range near {
		near[i] = texts.Shown(path.Join(dir, n))
	}
	return near, nil
}

// nearNames returns the files whose names are most similar: a few letters apart, or equal except
// for the extension.
func nearNames(name string, infos []env.Info) []string {
	type candidate struct {
		name     string
		distance int
	}
	name = strings.ToLower(name)
	want, stem := []rune(name), strings.TrimSuffix(name, path.Ext(name))
	var found []candidate
	for _, info := range infos {
		have := strings.ToLower(info.Name)
		d := texts.Distance(want, []rune(have))
		if d <= 1+len(want)/4 || stem != "" && strings.TrimSuffix(have, path.Ext(have)) == stem {
			found = append(found, candidate{info.Name, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var near []string
	for _, c := range found[:min(len(found), maxSuggestions)] {
		near = append(near, c.name)
	}
	return near
}

// CheckDir returns an error for the model if the directory for a command does not exist or is a
// file. parameter is the tool's name for it.
func CheckDir(ctx context.Context, e env.Environment, dir, parameter string) error {
	info, err := e.Stat(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the directory %s does not exist; give an existing one as %s, or leave it out to run the "+
			"command in the working directory", texts.Shown(dir), parameter)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file; give a directory as %s, such as the one that contains it", texts.Shown(dir),
			parameter)
	}
	return nil // an environment may confine files to a directory and not commands
}
