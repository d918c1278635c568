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

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/names"
)

// maxSuggestions is how many names are suggested for one that is not there.
const maxSuggestions = 3

// lexical returns a path as Access names it: as far as it can be told without looking, the same for the same file.
func lexical(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// explainOpen tells the model why a file could not be opened and what to do about it.
func explainOpen(ctx context.Context, e env.Environment, name string, err error) error {
	if name == "" {
		return errors.New("file_path is empty; give the path of a file")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return explainMissing(ctx, e, name)
	}
	if info, statErr := e.Stat(ctx, name); statErr == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory, not a file; list it with glob or shell, and read one of its files", names.Shown(name))
	}
	return err
}

func explainMissing(ctx context.Context, e env.Environment, name string) error {
	near, err := similarNames(ctx, e, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist, and neither does its directory %s; find the file with glob", names.Shown(name), names.Shown(path.Dir(name)))
	case err != nil:
		return fmt.Errorf("%s does not exist; check the path, or find the file with glob", names.Shown(name))
	case len(near) == 0:
		return fmt.Errorf("%s does not exist; find the file with glob", names.Shown(name))
	}
	return fmt.Errorf("%s does not exist; did you mean %s?", names.Shown(name), strings.Join(near, " or "))
}

// similarNames returns the files in a missing file's directory whose names are most like its own, as results show them.
func similarNames(ctx context.Context, e env.Environment, name string) ([]string, error) {
	dir := path.Dir(name)
	infos, err := e.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	near := nearNames(path.Base(name), infos)
	for i, n := range near {
		near[i] = names.Shown(path.Join(dir, n))
	}
	return near, nil
}

// nearNames returns the files whose names are most like the wanted one: a few letters apart, or alike but for the extension.
func nearNames(name string, infos []env.Info) []string {
	type candidate struct {
		name     string
		distance int
	}
	want := []rune(strings.ToLower(name))
	stem := strings.TrimSuffix(strings.ToLower(name), path.Ext(name))
	var found []candidate
	for _, info := range infos {
		have := strings.ToLower(info.Name)
		d := names.Distance(want, []rune(have))
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
