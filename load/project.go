package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/trust"
)

// Project holds what the project of a directory may start and allow. The root of a project is that
// of the git repository of the directory, or without one the directory itself.
type Project struct {
	*trust.Snapshot
	// Decision holds what the user decided about these files.
	Decision trust.Decision
	// Trusted reports whether the files have an effect. Otherwise only their rules that deny or ask
	// have one.
	Trusted bool
	// Unknown says why the user's decision cannot be known.
	Unknown error

	// Here is the directory of this machine for what runs here, if the project is on another
	// machine.
	Here string
	// Unread says that its files were not read, so that it is not known whether there is something
	// to trust.
	Unread bool
	// Chosen says that the user has trusted the project. One that has nothing to trust is Trusted
	// without that.
	Chosen bool

	// DecidedIn is the directory that the user's decision is about: Root, or the main work tree if
	// that is linked to it and its decision counts.
	DecidedIn string

	main string // the main work tree of git, if that of the project is linked to it
}

// TrustStore returns the user's decisions about projects: $XDG_STATE_HOME/attractor/trust, else
// ~/.local/state/attractor/trust.
func TrustStore(getenv func(string) string) (*trust.Store, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "there is no directory to keep decisions in: %w", err)
	}
	return trust.NewStore(filepath.Join(state, "attractor", "trust")), nil
}

// ReadProject reads the files of the project of a directory that start or allow something, and the
// user's decision about them. With trusted, they are trusted this time whatever the user decided,
// unless they have problems.
func ReadProject(dir string, getenv func(string) string, trusted bool) (*Project, error) {
	root, main := dir, ""
	if roots := git.Roots(dir); len(roots) > 0 {
		root = roots[0]
		if len(roots) > 1 && filepath.Base(roots[1]) == ".git" {
			main = filepath.Dir(roots[1])
		}
	}
	files, err := trust.Scan(root)
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err // the message has the name
	}
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "cannot work in %s: %w", texts.Shown(root), err)
	}
	p := &Project{Snapshot: files, Chosen: trusted, DecidedIn: files.Root, main: main}
	if trusted && len(files.Problems) > 0 {
		return nil, fault.Errorf(fault.ErrConfig, "the project %s cannot be trusted: %w", files.Root, files.Problems[0])
	}
	store, err := TrustStore(getenv)
	if err == nil {
		err = p.decide(store)
	}
	switch {
	case files.Empty(): // there is nothing to decide; Since says whether somebody has trusted it all the same
		p.Decision.State = trust.Trusted
	case err != nil:
		p.Unknown, p.Decision.State = err, trust.Undecided
	}
	p.Chosen = trusted || err == nil && p.Decision.State == trust.Trusted && !p.Decision.Since.IsZero()
	p.Trusted = p.Chosen || files.Empty()
	return p, nil
}

// decide reads what the user decided about the files of a project. In a worktree of git, about
// which nothing was decided, a decision about the same files in the repository's main one counts.
func (p *Project) decide(store *trust.Store) (err error) {
	p.Decision, err = store.Decide(p.Snapshot)
	if err != nil || p.Decision.State != trust.Undecided || p.main == "" {
		return err
	}
	there := *p.Snapshot
	there.Root = userfiles.RealPath(p.main)
	if same, err := store.Decide(&there); err == nil && (same.State == trust.Trusted || same.State == trust.Declined) {
		p.Decision, p.DecidedIn = same, there.Root
	}
	return nil
}

// WorkTrees returns the directories in which programs are the project's, given the home directory:
// its root, and the work trees of the repositories around it.
func (p *Project) WorkTrees(home string) []string { return append(git.WorkTrees(p.Root, home), p.Root) }

// Unread returns a project whose files do not count. Chosen says that the user trusts it.
func Unread(root string, chosen bool) *Project {
	return &Project{Snapshot: &trust.Snapshot{Root: root}, Trusted: true, Chosen: chosen, Unread: true}
}

// Untrusted returns a line that says which files have no effect and why, or "" if that is what
// their user has decided.
func (p *Project) Untrusted() string {
	if p.Trusted || p.Here != "" || p.Unknown == nil && p.Decision.State == trust.Declined {
		return ""
	}
	why := "is not trusted yet"
	switch {
	case p.Unknown != nil:
		why = "is not trusted (" + p.Unknown.Error() + ")"
	case len(p.Problems) > 0:
		why = "cannot be trusted (" + p.Problems[0].Error() + ")"
	case p.Decision.State == trust.Changed:
		why = "has changed since you decided about it"
	}
	return fmt.Sprintf("the project %s %s, so nothing in it is started or allowed (%s)", p.Root, why, p.changes())
}

// changes names some of the files that have changed since the user's decision.
func (p *Project) changes() string {
	var files []string
	for _, c := range p.Decision.Changes {
		files = append(files, texts.Shown(c.Name))
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) > mostFiles {
		files = append(files[:mostFiles], fmt.Sprintf("%d more", len(files)-mostFiles))
	}
	return strings.Join(files, ", ")
}

// UnusedRules returns a line that says which rules of the project that allow something have no
// effect and why, or "" if there are none. dir is the project's directory as the user has named it.
func (p *Project) UnusedRules(dir string, getenv func(string) string) string {
	u := Unused{}
	u.Add("rules", p.AllowingRules(getenv), p.Because())
	return u.Text(dir)
}

// AllowingRules returns the rules of an untrusted project that would allow something. The user's
// own are not the project's.
func (p *Project) AllowingRules(getenv func(string) string) (list []string) {
	if p.Trusted {
		return nil
	}
	own := ownRuleFiles(getenv)
	for _, e := range p.Effects() {
		file := filepath.Join(p.Root, filepath.FromSlash(e.File))
		if e.What == "allows" && !slices.ContainsFunc(own, func(name string) bool { return p.isOwn(name, file) }) {
			list = append(list, e.Text)
		}
	}
	return list
}

// mostFiles limits the files that a line names.
const mostFiles = 3

// Because returns why a project has no effect, as the end of a sentence about it.
func (p *Project) Because() string {
	switch {
	case p.Here != "":
		return "the project is on another machine, where its files can neither start nor allow anything"
	case p.Unknown != nil:
		return "it cannot be known whether you trust the project (" + p.Unknown.Error() + ")"
	case len(p.Problems) > 0:
		return "the project cannot be trusted (" + p.Problems[0].Error() + ")"
	case p.Decision.State == trust.Declined:
		return "you have declined to trust the project"
	case p.Decision.State == trust.Changed:
		return "the project has changed since you decided about it (" + p.changes() + ")"
	}
	return "the project is not trusted"
}
