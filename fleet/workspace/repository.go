package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
)

// refs holds the refs of a task's repository.
type refs struct {
	V       int               `json:"v"`
	Head    string            `json:"head,omitempty"` // a branch, such as refs/heads/main, or a commit
	Refs    map[string]string `json:"refs,omitempty"` // branches, tags and the stash, with what they name
	Shallow []string          `json:"shallow,omitempty"`
}

// maxRefs bounds the text of all refs.
const maxRefs = 8 << 20

// noRepository is the exit code of readRefs' script if there is none.
const noRepository = 3

// readRefs reads the refs of the repository in the working directory of an environment. It returns
// nil if there is no repository.
func readRefs(ctx context.Context, e env.Environment) (*refs, error) {
	if _, err := e.Stat(ctx, ".git"); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &refs{V: 1, Refs: map[string]string{}}
	out, err := scriptOutput(ctx, e,
		fmt.Sprintf(`[ -d .git ] && GIT_DIR=.git && export GIT_DIR && %s >/dev/null || exit %d
printf 'head '; %s || %s || echo
%s
if [ -f .git/shallow ]; then sed 's/^/shallow /' .git/shallow; fi`, gitScript("rev-parse", "--git-dir"), noRepository,
			gitScript("symbolic-ref", "-q", "HEAD"), gitScript("rev-parse", "-q", "--verify", "HEAD"),
			gitScript("for-each-ref", "--format=ref %(objectname) %(refname)", "refs/heads", "refs/tags",
				"refs/stash")))
	if failed, ok := errors.AsType[*scriptError](err); ok {
		if failed.code == noRepository {
			return nil, nil
		}
		return nil, fmt.Errorf("workspace: reading the repository's branches: %w", err)
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		r.add(strings.TrimSuffix(line, "\n"))
	}
	r.dropUnrecordable()
	return r, nil
}

// dropUnrecordable removes branches and tags whose names cannot be recorded, because JSON is UTF-8.
// If HEAD is such a branch, it becomes the commit of it.
func (r *refs) dropUnrecordable() {
	for name, id := range r.Refs {
		if repourl.CheckRef(name) != nil {
			delete(r.Refs, name)
			if r.Head == name {
				r.Head = id
			}
		}
	}
}

// add parses a line of the output of readRefs' script.
func (r *refs) add(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "head":
		r.Head = rest
	case "shallow":
		r.Shallow = append(r.Shallow, rest)
	case "ref":
		id, name, _ := strings.Cut(rest, " ")
		r.Refs[name] = id
	}
}

// check returns an error for refs that git would not print. They are not trusted, because they come
// from where the task's commands run.
func (r *refs) check() error {
	id := regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	branch := func(name string) bool { return strings.HasPrefix(name, "refs/heads/") && repourl.CheckRef(name) == nil }
	ok := r.Head == "" || branch(r.Head) || id.MatchString(r.Head)
	for name, value := range r.Refs {
		tag := strings.HasPrefix(name, "refs/tags/") && repourl.CheckRef(name) == nil
		ok = ok && (branch(name) || tag || name == "refs/stash") && id.MatchString(value)
	}
	for _, value := range r.Shallow {
		ok = ok && id.MatchString(value)
	}
	if !ok {
		return fmt.Errorf("workspace: the names of the repository's branches cannot be recorded: %w", errDamaged)
	}
	return nil
}

// same reports whether two repositories have the same refs, whatever is checked out.
func (r *refs) same(o *refs) bool {
	return maps.Equal(r.Refs, o.Refs) && slices.Equal(r.Shallow, o.Shallow)
}

// commits returns the commits that the refs name, and HEAD if that is a commit, without base, which
// a clone has.
func (r *refs) commits(base string) []string {
	list := slices.Collect(maps.Values(r.Refs))
	if r.Head != "" && !strings.HasPrefix(r.Head, "refs/") {
		list = append(list, r.Head)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(id string) bool { return id == base })
}

// refs returns the refs of a workspace that was just cloned.
func (c *clone) refs() (*refs, error) {
	r := &refs{V: 1, Head: c.head, Refs: map[string]string{}}
	if strings.HasPrefix(c.head, "refs/heads/") {
		r.Refs[c.head] = c.base
	}
	text, err := os.ReadFile(filepath.Join(c.git.dir, "shallow"))
	if err == nil {
		r.Shallow = strings.Fields(string(text))
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return r, nil
}

// makeRepository makes a repository in the empty working directory of an environment, with the
// cloned commit, if c is not nil, and the objects of pack, if that is not nil. It checks out
// nothing.
func makeRepository(ctx context.Context, e env.Environment, c *clone, r *refs, pack io.Reader) error {
	text := gitScript("init", "-q", "--template=")
	if c != nil {
		text += " && " + gitScript("config", "remote.origin.url", c.url) + " && " +
			gitScript("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	}
	if err := runScript(ctx, e, script{text: text}); err != nil {
		return fmt.Errorf("workspace: making a repository, for which the environment needs git: %w", err)
	}
	if len(r.Shallow) > 0 {
		if err := e.WriteFile(ctx, ".git/shallow", []byte(strings.Join(r.Shallow, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	if c != nil {
		if err := c.send(ctx, e); err != nil {
			return fmt.Errorf("workspace: bringing the cloned commit to the environment: %w", err)
		}
	}
	if pack != nil {
		if err := runScript(ctx, e, script{text: gitScript("index-pack", "--stdin"), in: pack}); err != nil {
			return fmt.Errorf("workspace: restoring the task's commits: %w", err)
		}
	}
	return setRefs(ctx, e, c, r)
}

// send copies the cloned commit into the repository of an environment.
func (c *clone) send(ctx context.Context, e env.Environment) error {
	from, to := io.Pipe()
	packed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		err := c.git.run(ctx, strings.NewReader(c.base+"\n"), to, "pack-objects", "--revs", "--stdout", "-q",
			"--delta-base-offset", "--threads=1")
		packed <- errors.Join(err, to.CloseWithError(err))
	}()
	err := runScript(ctx, e, script{text: gitScript("index-pack", "--stdin"), in: from})
	errClose := from.CloseWithError(errors.New("workspace: the environment takes no more"))
	if err != nil {
		cancel()
		<-packed // its error is that of the environment
		return err
	}
	return errors.Join(<-packed, errClose)
}

// setRefs creates refs. It checks out nothing.
func setRefs(ctx context.Context, e env.Environment, c *clone, r *refs) error {
	var in bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.Refs)) {
		fmt.Fprintf(&in, "update %s\x00%s\x00\x00", name, r.Refs[name])
	}
	text := gitScript("update-ref", "--create-reflog", "-z", "--stdin")
	if c != nil && strings.HasPrefix(c.head, "refs/heads/") {
		branch := strings.TrimPrefix(c.head, "refs/heads/")
		text += " && " + gitScript("update-ref", "refs/remotes/origin/"+branch, c.base)
		if r.Refs[c.head] != "" {
			text += " && " + gitScript("config", "branch."+branch+".remote", "origin") +
				" && " + gitScript("config", "branch."+branch+".merge", c.head)
		}
	}
	switch {
	case strings.HasPrefix(r.Head, "refs/heads/"):
		text += " && " + gitScript("symbolic-ref", "HEAD", r.Head)
	case r.Head != "":
		text += " && " + gitScript("update-ref", "--no-deref", "HEAD", r.Head)
	}
	if err := runScript(ctx, e, script{text: text, in: &in}); err != nil {
		return fmt.Errorf("workspace: restoring the repository's branches: %w", err)
	}
	return nil
}

// checkout writes the files of HEAD into a directory without files.
func checkout(ctx context.Context, e env.Environment) error {
	if err := runScript(ctx, e, script{text: gitScript("reset", "-q", "--hard")}); err != nil {
		return fmt.Errorf("workspace: checking out: %w", err)
	}
	return nil
}

// trackedIgnored returns the files that a commit has although a .gitignore file excludes them.
func trackedIgnored(ctx context.Context, e env.Environment, commit string) ([]string, error) {
	out, err := scriptOutput(ctx, e, gitScript("read-tree", commit)+" && "+
		gitScript("ls-files", "-z", "--cached", "--ignored", "--exclude-standard"))
	if err != nil {
		return nil, fmt.Errorf("workspace: listing the repository's files: %w", err)
	}
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(name string) bool { return name == "" }), nil
}

// patterns returns patterns for a .gitignore file that match paths and nothing else.
func patterns(paths []string) (list []string) {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	for _, p := range paths {
		if !strings.ContainsAny(p, "\n\r") && !strings.HasSuffix(p, " ") { // no pattern can match those
			list = append(list, "/"+escape.Replace(p))
		}
	}
	return list
}

// settle resets the index to HEAD after the recorded files were written. It checks out files of
// HEAD that were not recorded, because they are ignored or in left, except for those in keep.
func settle(ctx context.Context, e env.Environment, keep, left []string) error {
	head := gitScript("rev-parse", "-q", "--verify", "HEAD^{commit}")
	err := runScript(ctx, e, script{text: head + " >/dev/null || exit " + fmt.Sprint(noRepository)})
	if failed, ok := errors.AsType[*scriptError](err); ok && failed.code == noRepository {
		return runScript(ctx, e, script{text: gitScript("read-tree", "--empty")}) // HEAD has no commit yet
	}
	if err != nil {
		return err
	}
	ignored, err := trackedIgnored(ctx, e, "HEAD")
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, name := range keep {
		kept[name] = true
	}
	var in bytes.Buffer
	for _, name := range slices.Concat(ignored, left) {
		if !kept[name] {
			in.WriteString(name + "\x00")
		}
	}
	text := gitScript("checkout-index", "-q", "-z", "--stdin") + "; " +
		gitScript("update-index", "-q", "--refresh") + "; :"
	return runScript(ctx, e, script{text: text, in: &in}) // both fail for files that are there, or differ
}

// storeRefs stores refs and the commits that a clone does not have.
func (s *store) storeRefs(ctx context.Context, e env.Environment, name, base string, r *refs) (err error) {
	header, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.spool, "git-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	out := bufio.NewWriter(temp)
	if _, err := out.Write(append(header, '\n')); err != nil {
		return err
	}
	if list := r.commits(base); len(list) > 0 {
		in := strings.Join(list, "\n") + "\n"
		if base != "" {
			in += "^" + base + "\n"
		}
		text := gitScript("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", "--threads=1")
		err := runScript(ctx, e, script{text: text, in: strings.NewReader(in), out: &limited{to: out, left: s.max}})
		if errors.Is(err, errTooMuch) {
			return s.full()
		}
		if err != nil {
			return fmt.Errorf("workspace: recording the task's commits: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = s.objects.Put(ctx, name, temp)
	return err
}

// openRefs reads what storeRefs has stored. Pack is nil without commits. The caller calls close.
func openRefs(ctx context.Context, o fleet.Objects,
	name string) (r *refs, pack io.Reader, close func() error, err error) {
	from, err := o.Open(ctx, name)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("workspace: the recorded commits: %w", err)
	}
	in := bufio.NewReader(from)
	line, err := readLine(in, maxRefs)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil {
		err = r.check()
	}
	if err == nil && r.V != 1 {
		err = fmt.Errorf("workspace: recorded commits have version %d, and this program knows version 1: update it",
			r.V)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, from.Close())
	}
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return r, nil, from.Close, nil
	}
	return r, in, from.Close, nil
}

// readLine reads a line of at most max bytes.
func readLine(r *bufio.Reader, max int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > max {
			return nil, errDamaged
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, damaged(err)
		}
	}
}
