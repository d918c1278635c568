package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// Skills holds the skills that can be used in a directory.
type Skills struct {
	// List holds the user's skills and the project's, in the order of their names. Of several with
	// one name it holds the first: the user's.
	List []*ext.Skill
	// Untrusted names the project's skills that must not be used. Why is the reason.
	Untrusted []string
	Why       string
	// Problems says what is wrong with skills, and what in them has no effect.
	Problems []error
	// Dirs are the directories with the skills' files. Tools and commands may read them.
	Dirs []string
}

// skillPlaces lists the directories of skills, in a project and in a home directory.
func skillPlaces() []string {
	return []string{".attractor/skills", ".agents/skills", ".claude/skills"}
}

// The limits of the user's skills.
const (
	maxSkills     = 1000
	maxSkillBytes = 32 << 20 // of all
)

// ReadSkills reads the user's skills, and those of a project if its user trusts it. What is wrong
// with one is among the Problems.
func ReadSkills(project *Project, getenv func(string) string) *Skills {
	r := skillReader{Skills: &Skills{}}
	for _, dir := range userfiles.Dirs(skillPlaces(), getenv) {
		r.users(dir)
	}
	if project != nil {
		r.projects(project)
	}
	slices.SortFunc(r.List, func(a, b *ext.Skill) int { return strings.Compare(a.Name, b.Name) })
	return r.Skills
}

// skillReader reads skills.
type skillReader struct {
	*Skills
	places []string // the directories of the user's skills, as they were named
	looked int
	bytes  int
}

// problem notes what is wrong with a file or directory.
func (r *skillReader) problem(name string, err error) {
	r.Problems = append(r.Problems, ext.Mistake{File: name, Text: texts.Error(err)})
}

// users reads the user's skills in a directory.
func (r *skillReader) users(place string) {
	r.places = append(r.places, place)
	entries, err := os.ReadDir(place)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.problem(place, err)
		}
		return
	}
	for _, e := range entries {
		if r.looked++; r.looked > maxSkills {
			r.problem(place, fmt.Errorf("there are more than %d skills; the others are not used", maxSkills))
			return
		}
		r.user(place, e.Name())
	}
}

// user reads one of the user's skills. Its directory may be a symbolic link, because programs that
// install skills make such links.
func (r *skillReader) user(place, name string) {
	dir := filepath.Join(place, name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return // a file, or a link to nothing
	}
	file := filepath.Join(dir, ext.SkillFile)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		r.problem(dir, err)
		return
	}
	data, err := ext.ReadSkillFile(real)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lower := os.Lstat(filepath.Join(real, strings.ToLower(ext.SkillFile))); lower == nil {
			r.problem(dir, fmt.Errorf("the skill is not used, because its file is called skill.md; rename it to %s",
				ext.SkillFile))
		}
		return
	}
	if err != nil {
		r.problem(file, err)
		return
	}
	if r.bytes += len(data); r.bytes > maxSkillBytes {
		r.problem(file, fmt.Errorf("the skill is not used, because your skills have more than %d MiB together",
			maxSkillBytes>>20))
		return
	}
	r.add(ext.File{Name: file, Data: data, Origin: ext.User}, name, place, real)
}

// projects reads the project's skills, with the bytes on which its user has decided.
func (r *skillReader) projects(p *Project) {
	for _, place := range skillPlaces() {
		if slices.ContainsFunc(r.places,
			func(own string) bool { return p.isOwn(own, filepath.Join(p.Root, filepath.FromSlash(place))) }) {
			continue // the project is a home directory
		}
		for i := range p.Files {
			f := &p.Files[i]
			dir, base := path.Split(f.Name)
			if base != ext.SkillFile || path.Dir(path.Clean(dir)) != place {
				continue
			}
			name := path.Base(dir)
			if !p.Trusted {
				r.Untrusted, r.Why = append(r.Untrusted, name), p.Because()
				continue
			}
			r.ofProject(p, filepath.FromSlash(place), name, f.Data)
		}
	}
}

// ofProject reads a skill of a trusted project.
func (r *skillReader) ofProject(p *Project, place, name string, data []byte) {
	dir := filepath.Join(p.Root, place, name)
	file := filepath.Join(dir, ext.SkillFile)
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		if rel, outside := filepath.Rel(p.Root, real); outside != nil || !filepath.IsLocal(rel) {
			err = errors.New("the skill's directory leads out of the project")
		} else {
			_, err = ext.ReadSkillFile(real) // data has the bytes that the user trusted
		}
	}
	if err != nil {
		r.problem(file, err)
		return
	}
	r.add(ext.File{Name: file, Data: data, Origin: ext.Project}, name, filepath.Join(p.Root, place), real)
}

// add adds a skill whose directory is real, unless there is one of its name.
func (r *skillReader) add(f ext.File, name, place, real string) {
	s, mistakes := ext.ParseSkill(f, name)
	if s == nil {
		r.Problems = append(r.Problems, errorsOf(mistakes)...)
		return
	}
	for _, other := range r.List {
		if other.Name != name {
			continue
		}
		if same, err := ext.ReadSkillFile(other.Dir); other.Dir != real && (err != nil || !bytes.Equal(same, f.Data)) {
			r.Problems = append(r.Problems,
				ext.Mistake{File: f.Name,
					Text: fmt.Sprintf("the skill is not used, because there is another skill %s: %s", name,
						texts.Shown(other.File))})
		}
		return
	}
	r.Problems = append(r.Problems, errorsOf(mistakes)...)
	s.Dir = real
	r.List = append(r.List, s)
	r.readable(place, real)
}

// readable adds the directory that has a skill's directory in it, or that directory if it is
// elsewhere. One directory for many skills keeps sandboxes small.
func (r *skillReader) readable(place, dir string) {
	if real, err := filepath.EvalSymlinks(place); err == nil && isBelow(real, dir) {
		dir = real
	}
	if !slices.ContainsFunc(r.Dirs, func(known string) bool { return known == dir || isBelow(known, dir) }) {
		r.Dirs = append(r.Dirs, dir)
	}
}

// isBelow reports whether a name is in a directory, both without links.
func isBelow(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// Outside returns those of Dirs that are not in a directory. The others can be read with that
// directory.
func (s *Skills) Outside(dir string) []string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	dir = userfiles.RealPath(dir)
	return slices.DeleteFunc(slices.Clone(s.Dirs), func(d string) bool { return d == dir || isBelow(dir, d) })
}
