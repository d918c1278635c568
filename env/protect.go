package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/texts"
)

// Protection lists the files that must not be changed through an environment. An entry without a
// slash protects files and directories of that name at any depth, with everything in them; an entry
// with a slash is a path. Names are compared without case and in all spellings that lead to the
// same file on some file system.
type Protection struct {
	// Refuse lists files that are never changed.
	Refuse []string
	// Ask lists files whose change needs approval; see Guard.
	Ask []string
	// Also returns further files for Ask, as absolute paths without links, and what [Exposed]
	// returns. It is called when a change is judged: the first one, the next one after a command
	// was started, and one when its answer is older than a second and than twenty times what it
	// took. Nil means none.
	Also func() (files []string, exposed string)
}

// DefaultProtection refuses changes inside .git and asks for approval for files that start programs
// or allow them: settings of agents and editors, hooks, and start-up files of shells. A sandbox
// (package env/sandbox) makes the same files read-only for commands.
func DefaultProtection() Protection {
	p := Protection{Refuse: []string{".git"}}
	for _, d := range DelicateFiles() {
		if d.Guarded {
			p.Ask = append(p.Ask, d.Name)
		}
	}
	return p
}

// ErrProtected reports that an environment made by Protect refused to change a file. It wraps
// fs.ErrPermission.
var ErrProtected = fmt.Errorf("the file is protected: %w", fs.ErrPermission)

// Protect returns a view of e that does not change protected files. Symbolic links do not bypass
// it. It applies only to the methods that change files: commands are not confined.
func Protect(e Environment, p Protection) Environment {
	guarded := &protected{protection: p}
	guarded.Checked = Checked{Base{e}, guarded.check}
	return guarded
}

type protected struct {
	Checked
	protection Protection

	mu      sync.Mutex
	also    []string
	exposed string
	until   time.Time // when they are too old
}

// Start implements Environment. What a command does may add files that start something.
func (p *protected) Start(ctx context.Context, cmd Command) (Process, error) {
	p.mu.Lock()
	p.until = time.Time{}
	p.mu.Unlock()
	return p.Environment.Start(ctx, cmd)
}

// alsoAsks returns what Protection.Also returns.
func (p *protected) alsoAsks() (files []string, exposed string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begin := time.Now(); p.protection.Also != nil && begin.After(p.until) {
		p.also, p.exposed = p.protection.Also()
		p.until = time.Now().Add(max(time.Second, 20*time.Since(begin)))
	}
	return p.also, p.exposed
}

// check returns an error if a file is protected. Links to protected files may be made: nothing can
// be changed through them.
func (p *protected) check(ctx context.Context, op, name string) error {
	follow := op == "write" || op == "replace" || op == "chmod"
	for _, where := range p.places(ctx, name, follow) {
		if entry := p.entry(ctx, p.protection.Refuse, where); entry != "" {
			hint := "can start programs or allow them: a person has to change it"
			if path.Base(entry) == ".git" {
				hint = "can be changed by its own commands, but not by file tools"
			}
			return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%w (%s %s)", ErrProtected, entry, hint)}
		}
	}
	if _, ok := p.Environment.(Resolver); !ok && p.linked(ctx, name) {
		return &fs.PathError{Op: op, Path: name,
			Err: fmt.Errorf("%w (the name goes through a symbolic link whose target is unknown; use a name "+
				"without links)", ErrProtected)}
	}
	return nil
}

// places returns the paths that a name stands for, each once: as spelled, and with links resolved
// if that is possible.
func (p *protected) places(ctx context.Context, name string, follow bool) []string {
	abs := p.absolute(name)
	all := []string{abs}
	add := func(to string) {
		if !slices.Contains(all, to) {
			all = append(all, to)
		}
	}
	if to, err := Resolve(ctx, p.Environment, path.Dir(abs)); err == nil {
		add(path.Join(to, path.Base(abs)))
	}
	if follow {
		if to, err := Resolve(ctx, p.Environment, name); err == nil {
			add(to)
		}
	}
	return all
}

func (p *protected) absolute(name string) string {
	if !isAbs(name) {
		name = p.WorkDir() + "/" + name
	}
	return path.Clean(name)
}

// entry returns the first entry that protects a path, or "".
func (p *protected) entry(ctx context.Context, entries []string, abs string) string {
	spelled := strings.Split(abs, "/")
	for i, elem := range spelled {
		spelled[i] = PlainName(elem)
	}
	for _, entry := range entries {
		if !strings.Contains(entry, "/") {
			if slices.Contains(spelled, PlainName(entry)) {
				return entry
			}
			continue
		}
		tree := p.absolute(entry)
		for _, at := range []string{tree, resolved(ctx, p.Environment, tree)} {
			if below(texts.FoldedPath(abs), texts.FoldedPath(at)) {
				return entry
			}
		}
	}
	return ""
}

// resolved returns where a path leads, or the path itself if that is unknown.
func resolved(ctx context.Context, e Environment, abs string) string {
	if to, err := Resolve(ctx, e, abs); err == nil {
		return to
	}
	return abs
}

// PlainName returns an element of a path as the most lenient file system reads it: without case,
// without the characters that some file systems ignore and the endings that Windows drops, and with
// Windows's short name for .git expanded.
func PlainName(elem string) string {
	elem = texts.FoldedPath(elem)
	if before, _, stream := strings.Cut(elem, ":"); stream && before != "" {
		elem = before
	}
	if trimmed := strings.TrimRight(elem, ". "); trimmed != "" {
		elem = trimmed
	}
	if elem == "git~1" {
		return ".git"
	}
	return elem
}

// linked reports whether a name goes through a symbolic link, in an environment that is not a
// Resolver.
func (p *protected) linked(ctx context.Context, name string) bool {
	dir, rest := "/", strings.Trim(p.absolute(name), "/")
	// the directories above are not the model's
	if in, ok := strings.CutPrefix(p.absolute(name), strings.TrimSuffix(p.WorkDir(), "/")+"/"); ok {
		dir, rest = p.WorkDir(), in
	}
	for elem := range strings.SplitSeq(rest, "/") {
		list, err := p.ReadDir(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if slices.ContainsFunc(list, func(i Info) bool { return i.Name == elem && i.Mode&fs.ModeSymlink != 0 }) {
			return true
		}
		dir = path.Join(dir, elem)
	}
	return false
}

// Guarded implements Guard. Besides what the protection asks about, it guards what lies in a
// directory that git takes for a repository, whatever its name: its configuration and hooks start
// programs.
func (p *protected) Guarded(ctx context.Context, name string) string {
	for _, where := range p.places(ctx, name, true) {
		if dir := p.repository(ctx, where); dir != "" {
			return dir + " is a git repository, or may become one, which can start programs"
		}
		if entry := p.entry(ctx, p.protection.Ask, where); entry != "" {
			return entry + " can start programs or allow them"
		}
		files, _ := p.alsoAsks()
		around := func(entry string) bool { return below(texts.FoldedPath(where), texts.FoldedPath(entry)) }
		if i := slices.IndexFunc(files, around); i >= 0 {
			return files[i] + " can start programs or allow them"
		}
	}
	return guardedBelow(ctx, p.Environment, name)
}

// Exposed implements Guard.
func (p *protected) Exposed(ctx context.Context) string {
	if _, exposed := p.alsoAsks(); exposed != "" {
		return exposed
	}
	return Exposed(ctx, p.Environment)
}

// repository returns the innermost directory around a file that git takes for a repository without
// a work tree, or may take for one with the file, or "". A file HEAD or commondir asks by its name.
func (p *protected) repository(ctx context.Context, name string) string {
	there := func(name string) bool {
		_, err := p.Lstat(ctx, name) // git takes a link HEAD to a branch that is packed, or not there yet
		if errors.Is(err, errors.ErrUnsupported) {
			_, err = p.Stat(ctx, name)
		}
		return err == nil
	}
	for inner, dir := name, path.Dir(name); ; inner, dir = dir, path.Dir(dir) {
		parts := []string{path.Join(dir, "objects"), path.Join(dir, "refs"), path.Join(dir, "commondir")}
		if there(path.Join(dir, "HEAD")) && (slices.Contains(parts, inner) || slices.ContainsFunc(parts, there)) {
			return dir
		}
		if dir == path.Dir(dir) {
			return ""
		}
	}
}

// Below implements View.
func (p *protected) Below(context.Context, string, string) (Environment, func(error)) {
	return p.Environment, func(error) {}
}
