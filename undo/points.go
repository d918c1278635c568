package undo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// Points holds the points of a session, and what else its journal says about them.
type Points struct {
	Session string
	Dir     string // where the session worked last
	Led     string // where Dir led then, without symbolic links
	// Place is the machine of the directory, nil for this one.
	Place *sessions.Place
	Turns int // how many turns the session has
	List  []Point
}

// Point is a point, and where in a session it is.
type Point struct {
	checkpoint.Point
	Time time.Time
	Turn int // the number of the newest turn by then
	// Input counts the inputs that had begun.
	Input int
}

// Read reads the points of a session. If a kill has ended a call since the last one, Read adds a
// point without an After.
func Read(ctx context.Context, from agent.Records) (*Points, error) {
	p := new(Points)
	for note, err := range agent.ReadNotes(ctx, from, checkpoint.NoteKind) {
		if err != nil {
			return nil, err
		}
		point := Point{Time: note.Time, Turn: note.Turn, Input: note.Input}
		if err := json.Unmarshal(note.Data, &point.Point); err != nil {
			return nil, fmt.Errorf("record %d is no checkpoint: %w", note.Record, err)
		}
		p.List = append(p.List, point)
	}
	state, err := agent.Load(ctx, from)
	if err != nil {
		return nil, err
	}
	p.Session, p.Dir, p.Place = state.Header.ID, state.Dir(), sessions.PlaceOf(state.Notes)
	p.Led = sessions.LedBefore(state).To
	for _, turn := range state.Turns {
		p.Turns = max(p.Turns, turn.Number)
	}
	if last := len(p.List) - 1; last >= 0 && p.List[last].After != env.NoFile {
		for _, call := range state.Calls {
			if call.Intended && call.Result == nil {
				killed := Point{Point: checkpoint.Point{Call: call.ID, Before: p.List[last].After},
					Time: p.List[last].Time, Turn: p.Turns, Input: p.List[last].Input}
				p.List = append(p.List, killed)
				break
			}
		}
	}
	return p, nil
}

// workspace returns the name of the directory in the store.
func (p *Points) workspace(e env.Environment) string {
	if p.Place == nil {
		return e.WorkDir()
	}
	return Workspace(p.Place.Command, e.WorkDir())
}

// checkPlace returns an error if the directory of the session leads elsewhere now, as a link in its
// place does: the names of what the session has changed mean other files there, such as the hooks
// of git.
func (p *Points) checkPlace(ctx context.Context, e env.Environment) error {
	if p.Place.Elsewhere() {
		return nil
	}
	now, err := env.Resolve(ctx, e, ".")
	if err != nil || now == p.Led {
		return err
	}
	return fault.Errorf(fault.ErrConfig, "the directory %s leads to %s now, and led to %s when the session worked "+
		"there; put it back in its place first", texts.Shown(p.Dir), texts.Shown(now), texts.Shown(p.Led))
}

// After returns the points after a turn. Turn 0 is before the first one.
func (p *Points) After(turn int) ([]checkpoint.Point, error) {
	if turn < 0 || turn > p.Turns {
		return nil, fault.Errorf(fault.ErrConfig,
			"the session %s has no turn %d: it has %d, which attractor sessions show %s lists",
			sessions.ShortID(p.Session), turn, p.Turns, sessions.ShortID(p.Session))
	}
	return p.where(func(point *Point) bool { return point.Turn > turn }), nil
}

// where returns the points that wanted accepts.
func (p *Points) where(wanted func(*Point) bool) (list []checkpoint.Point) {
	for i := range p.List {
		if wanted(&p.List[i]) {
			list = append(list, p.List[i].Point)
		}
	}
	return list
}

// TreeAt returns the root of the tree as it was after a turn: what the last change until then left,
// or else what the first one after it found.
func (p *Points) TreeAt(turn int) (env.Hash, error) {
	if _, err := p.After(turn); err != nil {
		return "", err
	}
	var root env.Hash
	for i := range p.List {
		point := &p.List[i]
		if point.Turn > turn {
			root = cmp.Or(root, point.Before)
			break
		}
		// without an After, it is not known what the call did
		root = cmp.Or(point.After, point.Before)
	}
	if root == env.NoFile {
		return "", fault.Errorf(fault.ErrConfig,
			"no tree was recorded in the session %s at turn %d or after it, so its files are not known: nothing was "+
				"changed, or it ran without checkpoints (--no-checkpoints)",
			sessions.ShortID(p.Session), turn)
	}
	return root, nil
}

// Roots returns the trees of all points, each once.
func (p *Points) Roots() []env.Hash {
	roots := map[env.Hash]bool{}
	for i := range p.List {
		roots[p.List[i].Before], roots[p.List[i].After] = true, true
	}
	delete(roots, env.NoFile)
	return slices.Sorted(maps.Keys(roots))
}

// inputs returns the numbers of the inputs that may have changed something, the newest first. An
// undo belongs to none of them.
func (p *Points) inputs() (numbers []int) {
	for i := len(p.List) - 1; i >= 0; i-- {
		if n := p.List[i].Input; !p.List[i].Undo && (len(numbers) == 0 || numbers[len(numbers)-1] != n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// ignored returns the names that were ignored when the session first changed something.
func (p *Points) ignored() checkpoint.Names {
	for i := range p.List {
		if left := p.List[i].Left; left != nil {
			return left.Ignored
		}
	}
	return checkpoint.Names{}
}

// lastUndo returns the newest undo that was not taken back.
func (p *Points) lastUndo() *Point {
	redone := 0
	for i := len(p.List) - 1; i >= 0; i-- {
		switch point := &p.List[i]; {
		case point.Redo:
			redone++
		case point.Undo && redone > 0:
			redone--
		case point.Undo:
			return point
		}
	}
	return nil
}

// Diff returns what the session has changed after a turn, given the store of its trees.
func (p *Points) Diff(ctx context.Context, store *checkpoint.Dir, turn int,
	maxBytes int) (*checkpoint.Diff, error) {
	points, err := p.After(turn)
	if err != nil {
		return nil, err
	}
	changes, err := checkpoint.Compose(ctx, store, points, env.NoFile)
	if err != nil {
		return nil, p.gone(err)
	}
	diff, err := checkpoint.NewDiff(ctx, store, changes, maxBytes)
	return diff, p.gone(err)
}

// Write writes the files that a session had after a turn into a directory, and returns a sentence
// about them. checkpoints is the directory of the store. Write calls place to open the directory
// once it has found the files in the store, and closes it.
func (p *Points) Write(ctx context.Context, checkpoints string, turn int,
	place func() (env.Environment, func() error, error)) (text string, err error) {
	root, err := p.TreeAt(turn)
	if err != nil {
		return "", err
	}
	store, err := checkpoint.OpenDir(checkpoints, checkpoint.DirOptions{})
	if err != nil {
		return "", err
	}
	if r, err := store.Open(ctx, root); err != nil { // before anything is made
		return "", p.gone(err)
	} else if err := r.Close(); err != nil {
		return "", err
	}
	e, closeIt, err := place()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	made, err := checkpoint.Write(ctx, store, root, e)
	if err != nil {
		return "", fmt.Errorf("the files of turn %d are not all in %s: %w", turn, texts.Shown(e.WorkDir()), p.gone(err))
	}
	text = fmt.Sprintf("%s of turn %d are in %s; what was not recorded is not, such as .git",
		texts.Count(made, "path"), turn, e.WorkDir())
	if out, err := withoutHead(ctx, e); err != nil {
		return "", err
	} else if out {
		text += " and HEAD, with which git would take the directory for a repository that starts what its files say"
	}
	if ignored := p.ignored(); ignored.Count > 0 {
		text += " and what .gitignore names (" + first(ignored.First, ignored.Count, mostIgnored) + ")"
	}
	return text, nil
}

// withoutHead removes HEAD from a directory that git would take for a repository, because .git,
// which it would have used instead, is not among the files. It reports whether it has.
func withoutHead(ctx context.Context, e env.Environment) (removed bool, err error) {
	has := func(name string) bool {
		_, missing := env.TreeOf(e).Lstat(ctx, name)
		return missing == nil
	}
	if head, err := env.TreeOf(e).Lstat(ctx, "HEAD"); err != nil || head.IsDir() {
		return false, nil
	}
	if has(".git") || !has("commondir") && !(has("objects") && has("refs")) {
		return false, nil
	}
	return true, e.Remove(ctx, "HEAD")
}

// gone returns an error of the kind ErrNothing for a tree that the store does not have any more,
// and any other error as it is.
func (p *Points) gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(ErrNothing,
			"what the session %s has changed is not kept any more: the store of checkpoints was full, or it was "+
				"removed (%w)", sessions.ShortID(p.Session), err)
	}
	return err
}

// Stat returns a line for each file of a diff, with the numbers of lines added and removed, and
// their sums.
func Stat(d *checkpoint.Diff) string {
	var b strings.Builder
	added, removed := 0, 0
	for i := range d.Files {
		f := &d.Files[i]
		name := texts.Shown(f.Path)
		if f.From != "" {
			name = texts.Shown(f.From) + " => " + name
		}
		what := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		switch {
		case f.Binary:
			what = "binary"
		case !f.Before.Recorded() || !f.After.Recorded():
			what = "not recorded"
		case f.Large:
			what = "large"
		}
		fmt.Fprintf(&b, "%s | %s\n", name, what)
		added, removed = added+f.Added, removed+f.Removed
	}
	if d.More > 0 {
		fmt.Fprintf(&b, "and %s more\n", texts.Count(d.More, "path"))
	}
	fmt.Fprintf(&b, "%s changed, +%d -%d\n", texts.Count(len(d.Files)+d.More, "path"), added, removed)
	return b.String()
}

// Newest returns the points of the newest session of a directory that has some: of one that was
// begun there, or of a fork that works there. Subagents have no points of their own.
func Newest(ctx context.Context, store journal.Store, dir string) (*Points, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "cannot work in %s: %w", texts.Shown(dir), err)
	}
	entries, err := sessions.NewestFirst(ctx, store)
	if err != nil {
		return nil, err
	}
	want := userfiles.RealPath(dir)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := sessions.Summarize(ctx, store, e)
		// Older forks are listed with the directory of the session that they come from.
		if s.Parent != "" || s.Dir == "" || userfiles.RealPath(s.Dir) != want && s.ForkOf == "" {
			continue
		}
		points, err := ReadStored(ctx, store, e.ID)
		if err != nil {
			return nil, err
		}
		if len(points.List) > 0 && !points.Place.Elsewhere() && userfiles.RealPath(points.Dir) == want {
			return points, nil
		}
	}
	return nil, fault.Errorf(ErrNothing,
		"no session of %s has changed anything that could be taken back; for one that was begun elsewhere, pass its id",
		texts.Shown(dir))
}

// ReadStored reads the points of a session in a store.
func ReadStored(ctx context.Context, store journal.Store, id string) (*Points, error) {
	r, err := store.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	points, err := Read(ctx, r)
	return points, errors.Join(err, r.Close())
}
