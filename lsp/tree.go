package lsp

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

// The limits of what is looked at on the disk.
const (
	maxTree   = 20_000          // files
	maxBeside = 48              // files beside a changed one whose diagnostics are asked for
	scanTime  = 2 * time.Second // for looking at all files
)

// tree holds the files of the workspace that a server may have read, as they were when it was told
// of them.
type tree map[string]stamp

// stamp tells two states of a file apart.
type stamp struct {
	size int64
	time time.Time
}

// buildFiles lists the other files on which diagnostics depend.
const buildFiles = "go.mod,go.sum,go.work,package.json,tsconfig.json,jsconfig.json,Cargo.toml,Cargo.lock," +
	"pyproject.toml,pyrightconfig.json,compile_commands.json"

// scan looks at all files of a server's languages, and returns what has changed. It returns nothing
// if there are too many files, or if looking at them fails or takes too long: the changes of the
// session's own calls are known without it.
func (t tree) scan(ctx context.Context, e env.Environment, in *instance) []fileEvent {
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	var patterns []string
	for _, ending := range slices.Sorted(maps.Keys(in.spec.Languages)) {
		patterns = append(patterns, "*"+ending)
	}
	list, err := search.Glob(ctx, e, "**/{"+strings.Join(patterns, ",")+","+buildFiles+"}", in.root)
	if err != nil || list.Stopped || len(list.Files) > maxTree {
		return nil
	}
	now := tree{}
	for _, f := range list.Files {
		name := f.Path
		if !path.IsAbs(name) {
			name = path.Join(in.root, name)
		}
		now[name] = stamp{f.Size, f.ModTime}
	}
	return t.update(now, func(string) bool { return true })
}

// tell tells a server what has changed on the disk. Of its documents it gets the new content,
// because for them the disk does not count. Documents for which skip is true stay as they are.
func tell(ctx context.Context, e env.Environment, in *instance, events []fileEvent, skip func(name string) bool) error {
	for _, event := range events {
		name := pathOf(event.URI)
		if in.docs[name] == nil || skip(name) {
			continue
		}
		var err error
		if now, ok := read(ctx, e, name); ok && now.exists {
			_, err = in.show(name, now.text)
		} else {
			err = in.hide(name)
		}
		if err != nil {
			return err
		}
	}
	return in.tell(events)
}

// beside lists the files of a server's languages in a directory. It tells the server what has
// changed there, except for files for which skip is true, and reports whether anything has.
func (t tree) beside(ctx context.Context, e env.Environment, in *instance, dir string,
	skip func(string) bool) (names []string, changed bool, err error) {
	infos, err := e.ReadDir(ctx, dir)
	if err != nil {
		return nil, false, nil // it may be gone
	}
	now := tree{}
	for _, info := range infos {
		if in.spec.Languages[path.Ext(info.Name)] == "" || info.Mode&(fs.ModeType&^fs.ModeSymlink) != 0 ||
			strings.HasPrefix(info.Name, ".") {
			continue
		}
		name := path.Join(dir, info.Name)
		now[name] = stamp{info.Size, info.ModTime}
		if len(names) < maxBeside {
			names = append(names, name)
		}
	}
	events := t.update(now, func(name string) bool {
		return path.Dir(name) == dir && in.spec.Languages[path.Ext(name)] != "" && !skip(name)
	})
	return names, len(events) > 0, tell(ctx, e, in, events, skip)
}

// update makes those entries the current ones that are within, and returns what has changed.
func (t tree) update(now tree, within func(name string) bool) (events []fileEvent) {
	for name, old := range t {
		if !within(name) {
			continue
		}
		s, exists := now[name]
		switch {
		case !exists:
			delete(t, name)
			events = append(events, fileEvent{uriOf(name), fileDeleted})
		case s != old:
			t[name] = s
			events = append(events, fileEvent{uriOf(name), fileChanged})
		}
	}
	for name, s := range now {
		if _, known := t[name]; !known && within(name) {
			t[name] = s
			events = append(events, fileEvent{uriOf(name), fileCreated})
		}
	}
	slices.SortFunc(events, func(a, b fileEvent) int { return strings.Compare(a.URI, b.URI) })
	return events
}
