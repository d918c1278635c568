package git

import (
	"context"
	"path"

	"github.com/attractor-go/attractor/env"
)

// Attributes returns the directories in which a work tree has tracked files, as paths from its top, and the contents of the .gitattributes files
// in its index. The parameters are those of [Links].
func Attributes(ctx context.Context, e env.Environment, gitDir, commonDir string) (dirs []string, texts [][]byte, err error) {
	r := &repository{env: e, gitDir: gitDir, commonDir: commonDir, budget: maxRead}
	defer r.close()
	if err := r.configure(ctx); err != nil {
		return nil, nil, err
	}
	x, err := r.readIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, entry := range x.entries {
		for dir := path.Dir(entry.path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
		if path.Base(entry.path) != ".gitattributes" || entry.mode&kindMask != kindFile {
			continue
		}
		text, err := r.object(ctx, entry.id, blobObject)
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, text)
	}
	return dirs, texts, nil
}
