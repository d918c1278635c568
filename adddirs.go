package attractor

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// dirsNote is the kind of the note that holds the further directories of a session.
const dirsNote = "attractor.dirs"

// furtherDirs holds the directories of a session beside its working directory.
type furtherDirs struct {
	list []string // absolute, without symbolic links, which could lead elsewhere when the session is resumed
	gone []string // which an earlier process had, and which are not there any more
	had  []string // those that the model was told of
}

// chooseDirs adds the directories of a session that is resumed to those of the configuration.
func (s *Setup) chooseDirs(c *config, was *agent.State) error {
	d := &s.dirs
	if was != nil {
		if note, ok := was.Notes[dirsNote]; ok && json.Unmarshal(note.Data, &d.had) != nil {
			d.had = nil // by another program
		}
	}
	if c.elsewhere() {
		return d.chooseFar(c, s.moved)
	}
	for _, dir := range d.had {
		real, err := realDir(dir)
		if err == nil && real != dir {
			err = fmt.Errorf("it leads to %s now", texts.Shown(real))
		}
		if err != nil {
			d.gone = append(d.gone, dir)
			s.warnings.add("add_dir", fmt.Sprintf("The session goes on without the directory %s: %v", texts.Shown(dir),
				err))
			continue
		}
		d.add(dir)
	}
	for _, dir := range c.AddDirs {
		real, err := realDir(dir)
		if err != nil {
			return err
		}
		d.add(real)
	}
	return nil
}

// chooseFar adds directories of another machine, which are checked when the session connects to it.
// A session that has moved does not keep those that it had before.
func (d *furtherDirs) chooseFar(c *config, moved bool) error {
	if !moved {
		d.list = slices.Clone(d.had)
	}
	for _, dir := range c.AddDirs {
		if !path.IsAbs(dir) {
			return fail(ErrConfig, "the further directory %s is not an absolute path; with a command for the "+
				"environment, it has to be one of that machine", texts.Shown(dir))
		}
		if dir = path.Clean(dir); !slices.Contains(d.list, dir) {
			d.list = append(d.list, dir)
		}
	}
	return nil
}

// realDir returns the absolute path of a directory without symbolic links.
func realDir(dir string) (string, error) {
	if dir == "" {
		return "", fail(ErrConfig, "a further directory needs a name")
	}
	if err := checkDir(dir); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", cannotWork(dir, err)
	}
	return abs, nil
}

// add adds a directory, unless it is there.
func (d *furtherDirs) add(dir string) {
	if !slices.ContainsFunc(d.list, func(has string) bool { return userfiles.SameFile(has, dir) }) {
		d.list = append(d.list, dir)
	}
}

// mayRead returns the directories beside the working directory that tools may read.
func (s *Setup) mayRead() []string { return slices.Concat(s.dirs.list, s.readable) }

// tellDirs notes the further directories of a session. The prompt of a new session names them; the
// model of a resumed one is told what has changed.
func (s *Setup) tellDirs(ctx context.Context) error {
	d := &s.dirs
	if slices.Equal(d.list, d.had) {
		return nil
	}
	data, err := json.Marshal(d.list)
	if err != nil {
		return err
	}
	text := ""
	// a shell there does not confine, so the prompt says nothing
	if prompted := !s.Resumed && env.ConfinementOf(s.Machine).Writable != nil; !prompted {
		var added []string
		for _, dir := range d.list {
			if !slices.Contains(d.had, dir) {
				added = append(added, dir)
			}
		}
		if len(added) > 0 {
			text = "You may now also read and change files in " + shownDirs(added) + "."
		}
		if len(d.gone) > 0 {
			text += " These directories are not there any more, so you cannot use their files: " + shownDirs(d.gone) +
				"."
		}
	}
	return s.session.Note(ctx, dirsNote, data, strings.TrimSpace(text))
}

// shownDirs returns names of directories for a model.
func shownDirs(dirs []string) string {
	var shown []string
	for _, dir := range dirs {
		shown = append(shown, texts.Shown(filepath.ToSlash(dir)))
	}
	return strings.Join(shown, ", ")
}
