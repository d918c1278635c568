package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
)

// documentBudget limits the project's documents in the prompt, in bytes.
const documentBudget = 32 << 10

const documentsCut = "[Project instructions truncated at 32KB]"

// projectDocuments returns the documents of each directory from the repository's root, or the working directory, down to the working
// directory, in this order, because the nearer ones count more. It reads only what the environment allows, so documents above its roots
// and links out of them are left out. A host that wants the documents of a repository's root in a session below it makes the root one of
// env.LocalOptions.Roots.
func projectDocuments(ctx context.Context, e env.Environment, root string, names []string) string {
	var b strings.Builder
	dirs := directoriesDown(root, e.WorkDir())
	for _, dir := range dirs {
		var seen []string
		for _, name := range names {
			text, whole := readDocument(ctx, e, dirs[0], path.Join(dir, name), documentBudget)
			if text == "" || slices.Contains(seen, text) { // one is often a link to the other
				continue
			}
			seen = append(seen, text)
			section := fmt.Sprintf("# Project instructions from %s\n\nThey apply to all files in %s and below.\n\n%s\n\n",
				oneLine(path.Join(dir, name)), oneLine(dir), text)
			if left := documentBudget - b.Len(); !whole || len(strings.TrimSpace(section)) > left {
				return b.String() + strings.TrimSpace(cutText(section, left)) + "\n" + documentsCut
			}
			b.WriteString(section)
		}
	}
	return strings.TrimSpace(b.String())
}

// cutText returns the first n bytes of a text at most, in whole characters.
func cutText(text string, n int) string {
	n = max(0, min(n, len(text)))
	for at := n; at > 0 && at < len(text) && n-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return text[:at]
		}
	}
	return text[:n]
}

func directoriesDown(root, dir string) []string {
	if root == "" || dir != root && !strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") {
		return []string{dir}
	}
	var dirs []string
	for d := dir; ; d = path.Dir(d) {
		dirs = append(dirs, d)
		if d == root || d == path.Dir(d) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// readDocument returns at most limit bytes of a document, and whether that is all of it. It returns nothing for anything but a regular file
// that the environment can read.
func readDocument(ctx context.Context, e env.Environment, top, name string, limit int) (text string, whole bool) {
	info, err := e.Stat(ctx, name)
	if err != nil || info.Mode&fs.ModeType != 0 || !isInProject(ctx, e, top, name) {
		return "", true
	}
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", true
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if errors.Join(err, f.Close()) != nil {
		return "", true
	}
	if whole = len(data) <= limit; !whole {
		data = []byte(cutText(string(data), limit))
	}
	return strings.TrimSpace(sanitize.Text(strings.TrimPrefix(string(data), "\ufeff"))), whole
}

// isInProject reports whether a name leads to a file of the project's own below top. A link into git's directory, whose configuration may
// have passwords, or into another readable directory does not.
func isInProject(ctx context.Context, e env.Environment, top, name string) bool {
	file, err1 := env.Resolve(ctx, e, name)
	dir, err2 := env.Resolve(ctx, e, top)
	if err1 != nil || err2 != nil {
		return false
	}
	below, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/")
	return ok && !slices.Contains(strings.Split(below, "/"), ".git")
}
