package lsp

import (
	"context"
	"maps"
	"path"
	"slices"
)

// compare finds out what a call has added: it shows the server the old content of the files, asks
// for the diagnostics unless they are known, shows it the new content and asks again.
func (r *runner) compare(ctx context.Context, j *job) error {
	names, stale, err := r.lookAround(ctx, j)
	if err != nil {
		return err
	}
	if err := r.learn(ctx, j, names, stale); err != nil {
		return err
	}
	since := r.in.published.last()
	moved := map[string]func(int) int{}
	for _, f := range j.files {
		moved[f.path] = unmoved
		if f.known {
			moved[f.path] = movedLines(f.old.text, f.now.text)
		}
		if err := r.showNew(f); err != nil {
			return err
		}
	}
	if err := r.in.trim(); err != nil {
		return err
	}
	if !r.in.offers() {
		if names, err = r.settle(ctx, since); err != nil {
			return err
		}
	}
	for _, name := range names {
		now, err := r.diagnostics(ctx, name)
		if err != nil {
			return err
		}
		j.add(r.news(name, now, moved[name]))
	}
	return nil
}

// lookAround returns the files whose diagnostics the change may affect, those that were changed
// first. It tells the server what has changed on the disk besides, and reports whether that was
// anything.
func (r *runner) lookAround(ctx context.Context, j *job) (names []string, stale bool, err error) {
	own := map[string]bool{}
	dirs := map[string]bool{}
	for _, f := range j.files {
		own[f.path] = true
		dirs[path.Dir(f.path)] = true
		if f.now.exists {
			names = append(names, f.path)
		}
	}
	isOwn := func(name string) bool { return own[name] }
	if now := r.s.commands.Load(); now != r.seen {
		r.seen = now
		events := r.tree.scan(ctx, r.s.env, r.in)
		stale = len(events) > 0
		if err := tell(ctx, r.s.env, r.in, events, isOwn); err != nil {
			return nil, false, err
		}
	}
	if !r.in.offers() {
		return names, stale, nil
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		beside, changed, err := r.tree.beside(ctx, r.s.env, r.in, dir, isOwn)
		if err != nil {
			return nil, false, err
		}
		names, stale = append(names, beside...), stale || changed
	}
	names = append(names, slices.Sorted(maps.Keys(r.in.docs))...)
	listed := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		again := listed[name]
		listed[name] = true
		return again
	}), stale, nil
}

// learn makes the diagnostics known that there were before a call.
func (r *runner) learn(ctx context.Context, j *job, names []string, stale bool) error {
	since := r.in.published.last()
	for _, f := range j.files {
		if !f.known || !f.old.exists {
			continue
		}
		news, err := r.in.show(f.path, f.old.text)
		if err != nil {
			return err
		}
		stale = stale || news
	}
	if !r.in.offers() {
		if err := r.learnPublished(ctx, j, since, stale); err != nil {
			return err
		}
	} else {
		created := map[string]bool{}
		for _, f := range j.files {
			created[f.path] = f.known && !f.old.exists
			if f.known && f.old.exists && !f.now.exists { // one that was moved has its diagnostics under the old name
				names = append(names, f.path)
			}
		}
		for _, name := range names {
			if r.said[name].known && !stale || created[name] {
				continue
			}
			if err := r.relearn(ctx, name); err != nil {
				return err
			}
		}
	}
	for _, f := range j.files {
		switch {
		case f.from != "":
			r.rename(f.from, f.path)
		case f.known && !f.old.exists:
			r.remember(f.path, verdict{known: true})
		}
	}
	return nil
}

// learnPublished waits until the server has published what it has to say about the old content.
func (r *runner) learnPublished(ctx context.Context, j *job, since int, stale bool) error {
	if r.settled && !stale {
		return nil
	}
	names, err := r.settle(ctx, since)
	if err != nil {
		return err
	}
	r.settled = true
	for _, f := range j.files {
		names = append(names, f.path)
	}
	for _, name := range names {
		if err := r.relearn(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// relearn remembers the diagnostics of a file as the server knows it now.
func (r *runner) relearn(ctx context.Context, name string) error {
	now, err := r.diagnostics(ctx, name)
	if err == nil {
		r.remember(name, now)
	}
	return err
}

// settle waits until the server has published what it has to say about its documents, and returns
// the files about which it has.
func (r *runner) settle(ctx context.Context, since int) ([]string, error) {
	versions := map[string]int{}
	for name, doc := range r.in.docs {
		versions[name] = doc.version
	}
	if err := r.in.published.settle(ctx, since, versions, r.in.Closed); err != nil {
		return nil, err
	}
	return r.in.published.names(), nil
}

// showNew gives the server the new content of a file.
func (r *runner) showNew(f file) error {
	if !f.now.exists {
		delete(r.tree, f.path)
		if err := r.in.hide(f.path); err != nil {
			return err
		}
		return r.in.tell([]fileEvent{{uriOf(f.path), fileDeleted}})
	}
	if f.known && !f.old.exists {
		if err := r.in.tell([]fileEvent{{uriOf(f.path), fileCreated}}); err != nil {
			return err
		}
	}
	if _, err := r.in.show(f.path, f.now.text); err != nil {
		return err
	}
	if r.in.saves && !r.in.offers() { // some look for errors only then
		return r.in.notify("textDocument/didSave",
			map[string]any{"textDocument": map[string]string{"uri": uriOf(f.path)}})
	}
	return nil
}

// diagnostics returns those of a file as the server knows it now.
func (r *runner) diagnostics(ctx context.Context, name string) (verdict, error) {
	switch {
	case r.in.pulls.Load():
		return r.in.pull(ctx, name)
	case r.in.offers():
		return r.in.compile(ctx, name)
	}
	version := 0
	if doc := r.in.docs[name]; doc != nil {
		version = doc.version
	}
	return r.in.published.get(name, version), nil
}

// remember keeps the diagnostics of a file, or that they are not known.
func (r *runner) remember(name string, now verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[string]verdict{}
	}
	r.said[name] = now
}

// rename keeps the diagnostics of a file that was moved under its new name.
func (r *runner) rename(from, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	moved := r.said[from]
	if !moved.known {
		return
	}
	moved.list = slices.Clone(moved.list)
	for i := range moved.list {
		moved.list[i].path = to
	}
	r.said[to] = moved
	delete(r.said, from)
}

// news remembers the diagnostics that a file has now and returns those that were added. Without
// known old ones nothing counts as added, except where a server that publishes had nothing to say.
func (r *runner) news(name string, now verdict, moved func(int) int) []diagnostic {
	old, heard := r.said[name]
	r.remember(name, now)
	if !now.known || !old.known && (heard || r.in.offers() || !r.settled) {
		return nil
	}
	if moved == nil {
		moved = unmoved
	}
	return added(old.list, now.list, moved)
}
