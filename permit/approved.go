package permit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// approval holds what a call was allowed to touch: the files as they were, and the directory of a
// command.
type approval struct {
	// leads holds where the call's paths led, by the absolute path. It is empty for a path that
	// could not be resolved.
	leads map[string]string
	// files holds the contents that were shown to a person, by the path without links.
	files map[string]env.Hash
	// dir is where the directory of a command led.
	dir string
}

// unseen stands for the content of a file that nobody was shown, or that is too large to be
// compared.
const unseen env.Hash = "unseen"

// maxCompared limits the size of the files whose content is compared. The file tools change no
// larger ones.
const maxCompared = 256 << 20

// targets returns what a call would touch now. With contents, files that it would write must not
// change afterwards.
func (g *Gate) targets(ctx context.Context, req tool.Request, contents bool) *approval {
	a := &approval{leads: map[string]string{}, files: map[string]env.Hash{}}
	e := g.envOf(req)
	for _, name := range req.Access.Paths {
		target := leadsTo(ctx, e, name)
		a.leads[name] = target
		if a.files[target] = unseen; contents && req.Access.Effect != tool.ReadOnly {
			a.files[target] = contentOf(ctx, e, target)
		}
	}
	if req.Access.Command != "" {
		a.dir = leadsTo(ctx, e, commandDir(req))
	}
	return a
}

// envOf returns the environment of a call, which for a subagent may begin in another directory.
func (g *Gate) envOf(req tool.Request) env.Environment {
	if req.Dir == "" || req.Dir == g.Env.WorkDir() {
		return g.Env
	}
	return env.Sub(g.Env, req.Dir)
}

// leadsTo returns the path without links, or "" if the environment does not reach it.
func leadsTo(ctx context.Context, e env.Environment, name string) string {
	target, err := env.Resolve(ctx, e, name)
	if err != nil {
		return ""
	}
	return target
}

// contentOf returns the hash of a file, or unseen if it cannot be read.
func contentOf(ctx context.Context, e env.Environment, name string) env.Hash {
	if info, err := e.Stat(ctx, name); err == nil && info.Size > maxCompared {
		return unseen
	}
	hash, err := env.HashFile(ctx, e, name)
	if err != nil {
		return unseen
	}
	return hash
}

// sameAs reports whether two calls would touch the same places.
func (a *approval) sameAs(b *approval) bool { return a.dir == b.dir && maps.Equal(a.leads, b.leads) }

// Middleware implements [tool.Middleware]. It runs each call in an environment that changes no
// files but those for which the call was approved, as they were then, opens the call's own paths
// only where they led, and starts commands only in the directory that was shown. A call whose value
// is not this gate's does not run. A call without a value runs, because no gate has decided about
// it.
func (g *Gate) Middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		p, ok := call.Value.(*passage)
		switch {
		case call.Value == nil:
			return next(ctx, call)
		case !ok || p.gate != g:
			return tool.Result{}, errors.New(
				"the call was not run, because another hook of this program has replaced what the permission gate " +
					"had decided")
		}
		if err := g.stillAllowed(ctx, call, p); err != nil {
			return tool.Result{}, err
		}
		if call.Access.Effect != tool.ReadOnly {
			g.writing.Add(1)
			defer func() {
				g.writes.Add(1)
				g.writing.Add(-1)
			}()
		}
		ctx = env.Observing(ctx, p.observed)
		if p.touches == nil || len(p.touches.leads) == 0 && p.touches.dir == "" {
			return next(ctx, call)
		}
		within := *call
		approved := &approvedEnv{approval: p.touches}
		approved.Checked = env.Checked{Base: env.Base{Environment: call.Env}, Check: approved.check}
		within.Env = approved
		return next(ctx, &within)
	}
}

// stillAllowed judges a call again that no person has allowed, if another call may have changed
// something since: all calls of an answer are judged before the first one runs, and what a search
// reads depends on files such as .gitignore.
func (g *Gate) stillAllowed(ctx context.Context, call *tool.Call, p *passage) error {
	if p.accepted || g.isPlan(requestOf(call)) || p.writes == g.writes.Load() && g.writing.Load() == 0 {
		return nil
	}
	again := *p
	now := g.judge(ctx, requestOf(call), &again)
	if now.Verdict == tool.Allow {
		return nil
	}
	return fmt.Errorf("the call was not run, because another call has changed what it would do: %s. Repeat it, "+
		"and it is judged as it is now", cmp.Or(now.Reason, "a permission rule is about it now"))
}

// approvedEnv is the environment of an approved call. It opens and changes only the files that were
// approved, under the names that led to them, and changes a file only if its content is the one
// that was shown.
type approvedEnv struct {
	env.Checked
	*approval
	mu sync.Mutex // guards files
}

// find returns where a name leads, and an error if that is not what was approved. With others,
// names that the call did not have are let through.
func (a *approvedEnv) find(ctx context.Context, name string, others bool) (target string, err error) {
	if target, err = env.Resolve(ctx, a.Environment, name); err != nil {
		return "", err
	}
	abs := name
	if !path.IsAbs(abs) {
		abs = path.Join(a.WorkDir(), abs)
	}
	led, known := a.leads[path.Clean(abs)]
	switch {
	case known && led == "":
		return "", fmt.Errorf("where %s leads could not be looked up when the call was approved, so nothing was "+
			"done. Repeat the call", texts.Shown(name))
	case known && led != target:
		return "", fmt.Errorf("%s led to %s when the call was approved and leads to %s now, so nothing was done. "+
			"Look at it again before you repeat the call",
			texts.Shown(name), texts.Shown(led), texts.Shown(target))
	case known || others:
		return target, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, approved := a.files[target]; !approved {
		err = fmt.Errorf("%s is none of the files for which the call was approved, so nothing was done",
			texts.Shown(name))
	}
	return target, err
}

// check returns an error if a file is none of those for which the call was approved.
func (a *approvedEnv) check(ctx context.Context, _, name string) error {
	_, err := a.find(ctx, name, false)
	return err
}

// write calls do with the path without links and the content that the file must have, and keeps the
// hash of the new content. Was is what the caller expects, or unseen.
func (a *approvedEnv) write(ctx context.Context, name string, was, becomes env.Hash,
	do func(target string, was env.Hash) error) error {
	target, err := a.find(ctx, name, false)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	shown := a.files[target]
	switch {
	case shown == unseen:
		shown = was
	case was != unseen && was != shown:
		return changed(name)
	}
	err = do(target, shown)
	if errors.Is(err, env.ErrChanged) && was == unseen {
		return changed(name)
	}
	if err == nil && a.files[target] != unseen {
		a.files[target] = becomes
	}
	return err
}

// only returns a context with which nothing is changed but what leads to the target.
func (a *approvedEnv) only(ctx context.Context, target string) context.Context {
	return env.Placed(ctx, func(place string) error {
		now, err := a.find(ctx, place, true)
		if err == nil && now != target {
			err = fmt.Errorf("it leads to %s now, so nothing was done. Look at it again before you repeat the call",
				texts.Shown(now))
		}
		return err
	})
}

// changed returns the error for a file that has changed since the approval.
func changed(name string) error {
	return fmt.Errorf("%s has changed since the call was approved, so nothing was done. Look at it again before you "+
		"repeat the call", texts.Shown(name))
}

// Open implements env.Environment. It opens the path that find has checked, because the name may
// lead elsewhere by now.
func (a *approvedEnv) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	target, err := a.find(ctx, name, true)
	if err != nil {
		return nil, err
	}
	return a.Environment.Open(ctx, target)
}

// OpenDir implements env.DirOpener.
func (a *approvedEnv) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	target, err := a.find(ctx, name, true)
	if err != nil {
		return nil, err
	}
	return env.OpenDir(ctx, a.Environment, target)
}

// ReadDir implements env.Environment.
func (a *approvedEnv) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	target, err := a.find(ctx, name, true)
	if err != nil {
		return nil, err
	}
	return a.Environment.ReadDir(ctx, target)
}

// WriteFile implements env.Environment.
func (a *approvedEnv) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return a.write(ctx, name, unseen, env.HashOf(data), func(target string, was env.Hash) error {
		ctx := a.only(ctx, target)
		if was == unseen {
			return a.Environment.WriteFile(ctx, target, data, perm)
		}
		return env.Replace(ctx, a.Environment, target, was, data, perm)
	})
}

// Replace implements env.Replacer.
func (a *approvedEnv) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return a.write(ctx, name, was, env.HashOf(data), func(target string, was env.Hash) error {
		return env.Replace(a.only(ctx, target), a.Environment, target, was, data, perm)
	})
}

// Remove implements env.Environment.
func (a *approvedEnv) Remove(ctx context.Context, name string) error {
	return a.write(ctx, name, unseen, env.NoFile, func(target string, was env.Hash) error {
		ctx := a.only(ctx, target)
		if was == unseen {
			return a.Environment.Remove(ctx, name)
		}
		return env.Delete(ctx, a.Environment, name, was)
	})
}

// Delete implements env.Replacer. It removes the name, not what it leads to.
func (a *approvedEnv) Delete(ctx context.Context, name string, was env.Hash) error {
	return a.write(ctx, name, was, env.NoFile, func(target string, was env.Hash) error {
		return env.Delete(a.only(ctx, target), a.Environment, name, was)
	})
}

// Start implements env.Environment. It refuses to run a command in another directory than the
// approved one.
func (a *approvedEnv) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	dir := cmd.Dir
	if dir == "" {
		dir = "."
	}
	if a.dir != "" {
		switch now, err := env.Resolve(ctx, a.Environment, dir); {
		case errors.Is(err, env.ErrLost): // the lookup was lost, not the command
			return nil, fmt.Errorf("%w, so the command was not run. Repeat it", env.ErrLostBefore)
		case err != nil:
			return nil, fmt.Errorf("the command's directory cannot be looked up any more, so it was not run: %w", err)
		case now != a.dir:
			return nil, fmt.Errorf("the command's directory led to %s when the call was approved and leads to %s "+
				"now, so it was not run. Look at it again before you repeat the call",
				texts.Shown(a.dir), texts.Shown(now))
		}
	}
	return a.Environment.Start(ctx, cmd)
}

// Below implements env.View. Searches begin at a path of the call, which find has checked.
func (a *approvedEnv) Below(context.Context, string, string) (env.Environment, func(error)) {
	return a.Environment, func(error) {}
}
