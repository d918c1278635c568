package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/textfile"
)

// The limits of an editor's files.
const (
	maxEditorFile = 8 << 20          // bytes of a file; larger ones are those of the disk
	readTime      = 10 * time.Second // for the answer to a read
	writeTime     = 30 * time.Second // for a write: the editor may run a formatter
	restTime      = time.Minute      // in which an editor that was too slow is not asked
	maxComplaint  = 300              // bytes of what an editor says about an error
)

// editorFiles is an environment whose text files are those of an editor, with their unsaved
// changes. It asks the editor for text in UTF-8 in the roots. All else, and what the editor does
// not have, is read from the disk and written to it. So are new files, which are made before the
// editor writes them. Directories, links, searches and commands see the disk alone.
//
// An editor keeps line endings, the byte order mark and the final newline apart from its text, or
// loses them. Texts get those of the file.
type editorFiles struct {
	env.Base
	client *Client
	roots  []editorRoot
	turn   chan struct{} // taken by the change that is going on

	mu    sync.Mutex
	rests time.Time       // until then the editor is not asked
	told  map[string]bool // what the person and the model have been told
}

// editorRoot is a directory of the editor: its path without links, and as the editor names it. Both
// have slashes.
type editorRoot struct{ real, named string }

// Files returns e with the text files of the editor in directories that the editor has named, so
// that the session reads and changes what a person sees there, unsaved changes included. Without
// such files it returns e. Searches and commands see the disk.
//
// A Protect or ReadOnly belongs around the result. The context is for the preparation only.
func (c *Client) Files(ctx context.Context, e env.Environment, dirs ...string) env.Environment {
	if !c.session.server.client.Capabilities.FS.Read {
		return e
	}
	f := &editorFiles{Base: env.Base{Environment: e}, client: c,
		turn: make(chan struct{}, 1), told: map[string]bool{}}
	for _, dir := range dirs {
		named := path.Clean(filepath.ToSlash(dir))
		if real, err := env.Resolve(ctx, e, named); err == nil {
			f.roots = append(f.roots, editorRoot{real, named})
		}
	}
	return f
}

// sharedFile is a file as the session sees it.
type sharedFile struct {
	path string // for the editor
	// disk is the content on the disk, and text the one that the session sees. Both are nil if the
	// editor is not asked about the file.
	disk, text []byte
	missing    bool // there is no such file on the disk
}

// shared reports whether the editor has the file.
func (v *sharedFile) shared() bool { return v.text != nil }

// dirty reports whether the editor has unsaved changes in the file.
func (v *sharedFile) dirty() bool { return v.shared() && !bytes.Equal(v.disk, v.text) }

// look returns a file as the session sees it. Its error is one of the context; other troubles leave
// the file to the disk.
func (f *editorFiles) look(ctx context.Context, name string) (v sharedFile, err error) {
	canRead, _ := f.offers()
	if v.path = f.editorPath(ctx, name); v.path == "" || !canRead || f.resting() {
		return v, context.Cause(ctx)
	}
	disk, err := f.readDisk(ctx, name)
	if v.missing = errors.Is(err, fs.ErrNotExist); err != nil || !isText(disk) {
		return v, context.Cause(ctx)
	}
	text, err := f.ask(ctx, v.path)
	if err != nil {
		return v, context.Cause(ctx)
	}
	v.disk, v.text = disk, asInFile(text, disk)
	if v.dirty() && f.tell("unsaved "+v.path) {
		f.unsaved(ctx, name)
	}
	return v, nil
}

// editorPath returns a name as the editor knows it, or "" if it is not in the editor's directories.
func (f *editorFiles) editorPath(ctx context.Context, name string) string {
	if strings.HasSuffix(name, "/") {
		return "" // names a directory
	}
	target, err := env.Resolve(ctx, f.Environment, name)
	if err != nil {
		return ""
	}
	for _, root := range f.roots {
		rel, below := strings.CutPrefix(target, strings.TrimSuffix(root.real, "/")+"/")
		if below && !slices.Contains(strings.Split(rel, "/"), ".git") {
			return filepath.FromSlash(path.Join(root.named, rel))
		}
	}
	return ""
}

// errNotShared says that a file is not one that editors have.
var errNotShared = errors.New("not a file for an editor")

// readDisk returns the content of a file on the disk, which is not nil. It returns an error for one
// that is too large.
func (f *editorFiles) readDisk(ctx context.Context, name string) (data []byte, err error) {
	info, err := f.Environment.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsRegular() || info.Size > maxEditorFile {
		return nil, errNotShared
	}
	r, err := f.Environment.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(r, maxEditorFile+1)); len(data) > maxEditorFile {
		err = errNotShared
	}
	return data, err
}

// isText reports whether a content is one that an editor can have as text.
func isText(data []byte) bool {
	return len(data) <= maxEditorFile && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// ask returns a file's text from the editor. It tells the person of an error, once.
func (f *editorFiles) ask(ctx context.Context, name string) (string, error) {
	within, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	text, err := f.readText(within, name)
	switch {
	case err == nil && len(text) > 2*maxEditorFile:
		err = fmt.Errorf("its text has %d bytes", len(text))
	case err == nil || ctx.Err() != nil:
		return text, err
	case within.Err() != nil:
		f.rest()
		err = fmt.Errorf("no answer within %v", readTime)
	}
	if f.tell("reads") {
		f.client.Warn(fmt.Sprintf(
			"The editor did not give the text of %s: %s. Such files are read from the disk, without unsaved changes.",
			name, complaint(err)))
	}
	return "", err
}

// complaint returns an editor's error for people.
func complaint(err error) string {
	return strings.TrimRight(shortened(oneLine(err.Error()), maxComplaint), ".")
}

// rest keeps the editor from being asked for restTime.
func (f *editorFiles) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rests = time.Now().Add(restTime)
}

func (f *editorFiles) resting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.rests)
}

// tell notes that something is told, and reports whether it was not told before.
func (f *editorFiles) tell(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told[what] || len(f.told) > 1000 {
		return false
	}
	f.told[what] = true
	return true
}

// asInFile returns an editor's text in the form of the file on the disk.
func asInFile(text string, disk []byte) []byte {
	if plain(text) == plain(string(disk)) {
		return disk // in all its details, such as mixed line endings
	}
	lines, end := bytes.Count(disk, []byte("\n")), "\n"
	if lines > 0 && bytes.Count(disk, []byte("\r\n")) == lines && !strings.Contains(text, "\r") {
		end = "\r\n"
		text = strings.ReplaceAll(text, "\n", end)
	}
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if text != "" && bytes.HasSuffix(disk, []byte("\n")) && !strings.HasSuffix(text, "\n") {
		text += end
	}
	if text != "" && bytes.HasPrefix(disk, []byte(textfile.BOM)) && !strings.HasPrefix(text, textfile.BOM) {
		text = textfile.BOM + text
	}
	return []byte(text)
}

// plain returns a text without what editors keep apart from it.
func plain(text string) string {
	text = strings.ReplaceAll(strings.TrimLeft(text, textfile.BOM), "\r\n", "\n")
	return strings.TrimSuffix(text, "\n")
}

// Open implements env.Environment.
func (f *editorFiles) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	v, err := f.look(ctx, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if v.dirty() {
		return io.NopCloser(bytes.NewReader(v.text)), nil
	}
	return f.Environment.Open(ctx, name)
}

// WriteFile implements env.Environment.
func (f *editorFiles) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return f.change(ctx, "write", name, func(v sharedFile) error {
		switch {
		case v.shared():
			return f.write(ctx, name, v, data, perm)
		case f.creates(v, data):
			if err := f.create(ctx, name, v, data, perm); !errors.Is(err, env.ErrChanged) {
				return err
			}
		}
		return f.Environment.WriteFile(ctx, name, data, perm)
	})
}

// Replace implements env.Replacer. The content that the file must have is the one that the session
// sees.
func (f *editorFiles) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return f.change(ctx, "replace", name, func(v sharedFile) error {
		switch {
		case v.shared() && env.HashOf(v.text) != was:
			return &fs.PathError{Op: "replace", Path: name, Err: env.ErrChanged}
		case v.shared():
			return f.write(ctx, name, v, data, perm)
		case was == env.NoFile && f.creates(v, data):
			return f.create(ctx, name, v, data, perm)
		}
		return env.Replace(ctx, f.Environment, name, was, data, perm)
	})
}

// Delete implements env.Replacer, as Replace does. The editor keeps its text of the file.
func (f *editorFiles) Delete(ctx context.Context, name string, was env.Hash) error {
	return f.change(ctx, "delete", name, func(v sharedFile) error {
		switch {
		case v.shared() && env.HashOf(v.text) != was:
			return &fs.PathError{Op: "delete", Path: name, Err: env.ErrChanged}
		case v.shared():
			was = env.HashOf(v.disk)
		}
		return env.Delete(ctx, f.Environment, name, was)
	})
}

// change calls do with a file as the session sees it, while no other change of the session goes on.
func (f *editorFiles) change(ctx context.Context, op, name string, do func(sharedFile) error) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return &fs.PathError{Op: op, Path: name, Err: context.Cause(ctx)}
	}
	v, err := f.look(ctx, name)
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return do(v)
}

// write writes a file that the editor has.
func (f *editorFiles) write(ctx context.Context, name string, v sharedFile, data []byte, perm fs.FileMode) error {
	_, canWrite := f.offers()
	var err error
	switch {
	case !canWrite:
		err = errors.New("the editor does not let others write")
	case !isText(data):
		err = errors.New("the new content is no text")
	default:
		if err = f.hand(ctx, v.path, data); err == nil {
			return f.settle(ctx, name, v.disk, data, perm)
		}
		if ctx.Err() != nil {
			return &fs.PathError{Op: "write", Path: name, Err: context.Cause(ctx)}
		}
		if !v.dirty() {
			f.notWritten(v.path, err)
		}
	}
	if v.dirty() {
		return &fs.PathError{Op: "write", Path: name,
			Err: fmt.Errorf("the editor has unsaved changes in the file, which would be lost, and it was not written "+
				"through the editor (%s). Ask the user to save it, and read it again", complaint(err))}
	}
	return env.Replace(ctx, f.Environment, name, env.HashOf(v.disk), data, perm)
}

// creates reports whether the editor is given the text of a file that does not exist yet.
func (f *editorFiles) creates(v sharedFile, data []byte) bool {
	_, canWrite := f.offers()
	return v.missing && canWrite && len(data) > 0 && isText(data)
}

// create makes a file and lets the editor write its text, so that the editor can show what was
// written. The file is empty in between. In the end it has its content, even if the call is
// cancelled.
func (f *editorFiles) create(ctx context.Context, name string, v sharedFile, data []byte, perm fs.FileMode) error {
	empty := []byte{}
	if err := env.Replace(ctx, f.Environment, name, env.NoFile, empty, perm); err != nil {
		return err
	}
	err := f.hand(ctx, v.path, data)
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		return f.settle(ctx, name, empty, data, perm)
	}
	f.notWritten(v.path, err)
	return env.Replace(ctx, f.Environment, name, env.HashOf(empty), data, perm)
}

// notWritten tells the person, once, that the editor has not written a file.
func (f *editorFiles) notWritten(name string, err error) {
	if f.tell("writes") {
		f.client.Warn(fmt.Sprintf("The editor did not write %s: %s. Such files are written to the disk.", name,
			complaint(err)))
	}
}

// hand lets the editor write a file's new text.
func (f *editorFiles) hand(ctx context.Context, name string, data []byte) error {
	within, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := f.writeText(within, name, string(data))
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		f.rest()
		return fmt.Errorf("no answer within %v", writeTime)
	}
	return err
}

// settle writes a file to the disk, where commands read it, if the editor has taken its text but
// not saved it. What a formatter of the editor has changed stays.
func (f *editorFiles) settle(ctx context.Context, name string, before, data []byte, perm fs.FileMode) error {
	now, err := f.readDisk(ctx, name)
	switch {
	case err != nil && !errors.Is(err, errNotShared):
		return err
	case bytes.Equal(now, data):
		return nil
	case bytes.Equal(now, before), plain(string(now)) == plain(string(data)): // it was not saved, or not in this form
		return env.Replace(ctx, f.Environment, name, env.HashOf(now), data, perm)
	}
	return nil
}

// OpenDir implements env.DirOpener.
func (f *editorFiles) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	return env.OpenDir(ctx, f.Environment, name)
}

// Below implements env.View: searches read the disk.
func (f *editorFiles) Below(context.Context, string, string) (env.Environment, func(error)) {
	return f.Environment, func(error) {}
}

// Symlink implements env.Tree.
func (f *editorFiles) Symlink(ctx context.Context, target, name string) error {
	return env.TreeOf(f.Environment).Symlink(ctx, target, name)
}

// Mkdir implements env.Tree.
func (f *editorFiles) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return env.TreeOf(f.Environment).Mkdir(ctx, name, perm)
}

// Chmod implements env.Tree.
func (f *editorFiles) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return env.TreeOf(f.Environment).Chmod(ctx, name, perm)
}

var _ env.Tree = (*editorFiles)(nil)
