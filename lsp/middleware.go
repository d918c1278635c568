package lsp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// The limits of what of a call is looked at.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxFiles = 100     // of one call
)

// Middleware is a [tool.Middleware] that appends the diagnostics that a call has added to its
// result.
func (s *Servers) Middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		changes := call.Access.Effect != tool.ReadOnly
		if !changes || !s.concerns(call.Access.Paths) {
			result, err := next(ctx, call)
			unseen := changes && len(call.Access.Paths) == 0
			if err != nil || !unseen && s.lates.Load() == 0 && !s.changed(result.Changes) {
				return result, err
			}
			return s.after(ctx, call, nil, result, s.wait), nil
		}
		begin := time.Now()
		was := s.before(ctx, call)
		waited := time.Since(begin)
		result, err := next(ctx, call)
		if err != nil {
			return result, err
		}
		return s.after(ctx, call, was, result, s.wait-waited), nil
	}
}

// changed reports whether there is a server for one of the changed files.
func (s *Servers) changed(changes []tool.Change) bool {
	return slices.ContainsFunc(changes, func(c tool.Change) bool { return s.of(c.Path) != nil || s.of(c.From) != nil })
}

// content holds the text of a file.
type content struct {
	text   string
	exists bool
}

// before reads the files that a call may change, by their real paths.
func (s *Servers) before(ctx context.Context, call *tool.Call) map[string]content {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	was := map[string]content{}
	for _, name := range call.Access.Paths[:min(len(call.Access.Paths), maxFiles)] {
		if s.of(name) == nil {
			continue
		}
		real, err := env.Resolve(ctx, call.Env, name)
		if err != nil {
			continue
		}
		if c, ok := read(ctx, call.Env, real); ok {
			was[real] = c
		}
	}
	return was
}

// read reads a file. It reports false for one that is no text, too long or cannot be read.
func read(ctx context.Context, e env.Environment, name string) (c content, ok bool) {
	f, err := e.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, true
	}
	if err != nil {
		return c, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err = errors.Join(err, f.Close()); err != nil || len(data) > maxFile || !utf8.Valid(data) {
		return c, false
	}
	return content{string(data), true}, true
}

// after appends the diagnostics to the result of a call, for which it waits no longer than a time.
func (s *Servers) after(ctx context.Context, call *tool.Call, was map[string]content, result tool.Result,
	wait time.Duration) tool.Result {
	if len(result.Changes) == 0 && call.Access.Effect != tool.ReadOnly && len(call.Access.Paths) == 0 {
		s.commands.Add(1)
	}
	who := agent{call.SessionID, call.AgentID}
	deadline, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var jobs []*job
	for of, files := range s.files(deadline, call, was, result.Changes) {
		if j := of.enqueue(who, files); j != nil {
			jobs = append(jobs, j)
		}
	}
	var list []diagnostic
	for _, j := range jobs {
		list = append(list, j.wait(deadline)...)
	}
	title := "New problems after this change, reported by "
	if len(list) == 0 {
		title = "New problems since your last change, reported by "
	}
	list = append(list, s.overdue(who)...)
	var from []string
	for _, d := range list {
		from = append(from, d.of.spec.Name)
	}
	slices.Sort(from)
	title += strings.Join(slices.Compact(from), " and ") + ":"
	if len(list) > 0 {
		result.Content = result.Content.WithLine(describe(title, list, call.Env.WorkDir()))
	}
	return result
}

// files returns what a call has changed, by the servers for the files.
func (s *Servers) files(ctx context.Context, call *tool.Call, was map[string]content,
	changes []tool.Change) map[*runner][]file {
	if !s.changed(changes) {
		return nil
	}
	byServer := map[*runner][]file{}
	root := strings.TrimSuffix(s.root(ctx), "/") + "/"
	put := func(name, from string) {
		of := s.of(name)
		if of == nil || !strings.HasPrefix(name, root) {
			return
		}
		now, ok := read(ctx, call.Env, name)
		if !ok {
			return
		}
		old, known := was[name]
		byServer[of] = append(byServer[of], file{path: path.Clean(name), old: old, known: known, now: now, from: from})
	}
	for _, c := range changes[:min(len(changes), maxFiles)] {
		if c.From != "" {
			put(c.From, "")
		}
		put(c.Path, c.From)
	}
	return byServer
}
