package checkpoint

import (
	"context"
	"io/fs"
	"path"
	"slices"
)

// ownerAll are the permissions that the owner of a directory needs to change what it holds.
const ownerAll fs.FileMode = 0o700

// addSteps adds the steps for all paths. What goes, goes first, from the inside out, so that a name
// that differs only in case is free when the old one is made. The permissions of directories come
// last, because they may forbid the rest.
func (p *planner) addSteps(ctx context.Context) error {
	var removed, made, modes []Step
	for _, name := range p.paths(false) {
		r := p.back[name]
		step := Step{Path: Name(name), Was: stateOf(r.now), Want: stateOf(r.want)}
		if r.removes() {
			removed = append(removed, step.as(OpRemove))
		}
		switch {
		case r.want == nil:
		case r.want.Mode.IsDir() && r.now != nil && r.now.Mode.IsDir():
			modes = append(modes, step.as(OpChmod))
		case r.want.Mode.IsDir():
			made = append(made, step.as(OpMkdir))
			modes = append(modes, step.as(OpChmod))
		case r.want.Mode.Type() == fs.ModeSymlink:
			made = append(made, step.as(OpLink))
		case r.now != nil && r.now.Mode.IsRegular() && r.now.Object == r.want.Object:
			made = append(made, step.as(OpChmod))
		default:
			made = append(made, step.as(OpWrite))
		}
	}
	slices.Reverse(removed)
	opened, closed, err := p.locked(ctx)
	if err != nil {
		return err
	}
	modes = append(modes, closed...)
	slices.SortFunc(modes, func(a, b Step) int { return -compareNames(a.Path, b.Path) })
	p.plan.Steps = slices.Concat(opened, removed, made, modes)
	return nil
}

// as returns the step with an operation. A step that removes wants what the path holds in the end.
func (s Step) as(op Op) Step {
	s.Op = op
	return s
}

// locked returns the steps that open directories without permission to change them, and those that
// restore the permissions of the ones that no other step restores.
func (p *planner) locked(ctx context.Context) (opened, closed []Step, err error) {
	seen := map[string]bool{}
	for _, name := range p.paths(false) {
		for dir := path.Dir(name); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			now, err := p.now.at(ctx, dir)
			if err != nil {
				return nil, nil, err
			}
			if now == nil || !now.Mode.IsDir() || now.Mode&ownerAll == ownerAll {
				continue
			}
			step := Step{Path: Name(dir), Was: stateOf(now), Want: stateOf(now)}
			opened = append(opened, step.as(OpOpen))
			if p.back[dir] == nil {
				closed = append(closed, step.as(OpChmod))
			}
		}
	}
	slices.SortFunc(opened, func(a, b Step) int { return compareNames(a.Path, b.Path) })
	return opened, closed, nil
}

func compareNames(a, b Name) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
