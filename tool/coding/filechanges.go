package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
)

// maxDiffBytes is the largest file that a diff is made of.
const maxDiffBytes = 1 << 20

// content holds the content of a file at one time. The zero value means that the file does not
// exist.
type content struct {
	hash   env.Hash
	text   string
	opaque bool // text is left out: no diff is wanted or possible
}

func contentOf(call *tool.Call, data []byte) content {
	c := content{hash: env.HashOf(data)}
	if call.Diffs <= 0 || len(data) > maxDiffBytes || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		c.opaque = true
	} else {
		c.text = string(data)
	}
	return c
}

// contentOfFile returns the content of a file of this size, and its text unless it is longer than
// [maxWholeBytes].
func contentOfFile(ctx context.Context, call *tool.Call, name string, size int64) (c content, text string, err error) {
	if size > maxWholeBytes {
		h, err := env.HashFile(ctx, call.Env, name)
		return content{hash: h, opaque: h != env.NoFile}, "", err
	}
	f, err := call.Env.Open(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
		return content{}, "", nil
	case err != nil:
		return c, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	most := max(size, maxDiffBytes)
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || int64(len(data)) <= most {
		return contentOf(call, data), string(data), err
	}
	// it has grown, or another machine says a wrong size
	h, err := env.HashFrom(io.MultiReader(bytes.NewReader(data), f))
	return content{hash: h, opaque: true}, "", err
}

// fileChanges holds the files that a call has written or removed, in the order of their first
// change, with their contents before and after.
type fileChanges struct {
	names         []string
	before, after map[string]content
}

// add records that a file was written or removed.
func (w *fileChanges) add(name string, before, after content) {
	if w.before == nil {
		w.before, w.after = map[string]content{}, map[string]content{}
	}
	if _, again := w.before[name]; !again {
		w.names = append(w.names, name)
		w.before[name] = before
	}
	w.after[name] = after
}

// result returns the changes as a result. A file that ends as it began counts as seen.
func (w *fileChanges) result(ctx context.Context, call *tool.Call, done []patch.Change) tool.Result {
	var result tool.Result
	room := max(call.Diffs, 0)
	from := w.moved(done)
	gone := map[string]bool{}
	for _, old := range from {
		gone[old] = true
	}
	for _, name := range w.names {
		before, after := w.before[name], w.after[name]
		c := tool.Change{Path: resolvedPath(ctx, call.Env, name), Before: before.hash, After: after.hash}
		old, moved := from[name]
		switch {
		case gone[name]: // listed under its new name
			continue
		case before.hash == after.hash:
			result.Seen = append(result.Seen, seenFile(ctx, call.Env, name, after.hash)...)
			continue
		case moved:
			before = w.before[old]
			c.Kind, c.From, c.Before = tool.Moved, resolvedPath(ctx, call.Env, old), before.hash
		case before.hash == env.NoFile:
			c.Kind = tool.Created
		case after.hash == env.NoFile:
			c.Kind = tool.Deleted
		default:
			c.Kind = tool.Modified
		}
		if !moved {
			old = name
		}
		c.Diff, c.DiffCut = cutLines(unifiedDiff(call.Env, old, name, before, after), room)
		room -= len(c.Diff)
		result.Changes = append(result.Changes, c)
	}
	return result
}

// moved returns the old names of moved files by the new ones. A file that was moved over another
// counts as a change of that one.
func (w *fileChanges) moved(done []patch.Change) map[string]string {
	origin, from := map[string]string{}, map[string]string{}
	for _, c := range done {
		if c.To == "" {
			continue
		}
		origin[c.To] = c.Path
		if first, again := origin[c.Path]; again {
			origin[c.To] = first
		}
	}
	var taken []string
	for _, name := range w.names {
		old, ok := origin[name]
		left := w.before[old].hash != env.NoFile && w.after[old].hash == env.NoFile
		came := w.before[name].hash == env.NoFile && w.after[name].hash != env.NoFile
		if ok && left && came && !slices.Contains(taken, old) {
			from[name], taken = old, append(taken, old)
		}
	}
	return from
}

// resolvedPath returns a file's path in the form of results.
func resolvedPath(ctx context.Context, e env.Environment, name string) string {
	if p, err := env.Resolve(ctx, e, name); err == nil {
		return p
	}
	return absolutePath(e, name)
}

// absolutePath returns a file's absolute path by its name alone.
func absolutePath(e env.Environment, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(e.WorkDir(), name)
}

// unifiedDiff returns a unified diff of two contents, if both are text. If the file was moved, it
// begins with git's lines about that.
func unifiedDiff(e env.Environment, from, to string, before, after content) string {
	if before.opaque || after.opaque {
		return ""
	}
	old, now := diffLabel(e, "a/", from, before), diffLabel(e, "b/", to, after)
	// without the diff command's line
	_, text, _ := strings.Cut(string(diff.Diff(old, []byte(before.text), now, []byte(after.text))), "\n")
	if from != to {
		text = fmt.Sprintf("diff --git %s %s\nrename from %s\nrename to %s\n", old, now, diffLabel(e, "", from, before),
			diffLabel(e, "", to, after)) + text
	}
	return text
}

// diffLabel returns a file's name in a diff.
func diffLabel(e env.Environment, side, name string, c content) string {
	if c.hash == env.NoFile {
		return "/dev/null"
	}
	if below, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(e.WorkDir(), "/")+"/"); ok {
		name = below
	}
	if path.IsAbs(name) {
		return texts.Shown(path.Clean(name))
	}
	return texts.Shown(side + path.Clean(name))
}

// cutLines returns the lines that fit into room bytes, and whether any are left out.
func cutLines(text string, room int) (string, bool) {
	if len(text) <= room {
		return text, false
	}
	return text[:strings.LastIndexByte(text[:room], '\n')+1], true
}
