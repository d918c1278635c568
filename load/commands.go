package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// CommandFiles holds the commands that can be used in a directory.
type CommandFiles struct {
	// List holds the user's commands and the project's, in the order of their names. Of several
	// with one name it holds the first: the user's.
	List []*ext.Command
	// Untrusted names the project's commands that must not be used. Why is the reason.
	Untrusted []string
	Why       string
	// Problems says what is wrong with commands, and what in them has no effect. ProblemsOf has
	// those of the commands in the List.
	Problems   []error
	ProblemsOf map[string][]error
}

// commandPlaces lists the directories of commands, in a project and in a home directory.
func commandPlaces() []string {
	return []string{".attractor/commands", ".agents/commands", ".claude/commands", ".gemini/commands"}
}

// UntrustedCommands returns the names of the project's commands if nobody trusts it.
func (p *Project) UntrustedCommands(getenv func(string) string) (list []string) {
	if p == nil || p.Trusted {
		return nil
	}
	for _, f := range p.extFiles(commandPlaces(), getenv) {
		if name := ext.CommandName(f.below); name != "" && isCommandFile(f.below) {
			list = append(list, name)
		}
	}
	return list
}

// Named returns the command of a name, or nil.
func (c *CommandFiles) Named(name string) *ext.Command {
	if i := slices.IndexFunc(c.List, func(f *ext.Command) bool { return f.Name == name }); i >= 0 {
		return c.List[i]
	}
	return nil
}

// codexPrompts is the directory of the user's prompts for codex. Their commands begin with its
// name.
const codexPrompts = "prompts"

// ReadCommands reads the user's commands, and those of a project if its user trusts it.
func ReadCommands(project *Project, getenv func(string) string) *CommandFiles {
	c := &CommandFiles{ProblemsOf: map[string][]error{}}
	places := commandPlaces()
	problem := func(err error) { c.Problems = append(c.Problems, err) }
	for _, dir := range userfiles.Dirs(places, getenv) {
		for _, f := range userFiles(dir, problem) {
			c.add(f, ext.ParseCommand, "")
		}
	}
	if codex := userfiles.CodexDir(getenv); codex != "" {
		for _, f := range userFiles(filepath.Join(codex, codexPrompts), problem) {
			c.add(f, ext.ParsePrompt, codexPrompts+":")
		}
	}
	if c.Untrusted = project.UntrustedCommands(getenv); len(c.Untrusted) > 0 {
		c.Why = project.Because()
	} else {
		for _, f := range project.extFiles(places, getenv) {
			c.add(f, ext.ParseCommand, "")
		}
	}
	slices.SortFunc(c.List, func(a, b *ext.Command) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// isCommandFile reports whether a file in a directory of commands has one.
func isCommandFile(name string) bool {
	return path.Ext(name) == ".toml" || isAgentFile(name)
}

// add adds the command of a file, unless there is one of its name.
func (c *CommandFiles) add(f extFile, parse func(ext.File, string) (*ext.Command, []ext.Mistake), prefix string) {
	if !isCommandFile(f.below) {
		return
	}
	name := ext.CommandName(f.below)
	if name == "" {
		c.Problems = append(c.Problems,
			ext.Mistake{File: f.Name,
				Text: "nobody can call the command by its name: use letters, digits, -, _ and ., at most " +
					fmt.Sprint(ext.MaxCommandName) + " in all"})
		return
	}
	command, mistakes := parse(f.File, prefix+name)
	if command == nil {
		c.Problems = append(c.Problems, errorsOf(mistakes)...)
		return
	}
	for _, other := range c.List {
		if other.Name == command.Name {
			err := ext.Mistake{File: f.Name,
				Text: fmt.Sprintf("the command is not used, because there is another /%s: %s", other.Name,
					texts.Shown(other.File))}
			c.Problems = append(c.Problems, err)
			c.ProblemsOf[other.Name] = append(c.ProblemsOf[other.Name], err)
			return
		}
	}
	c.List = append(c.List, command)
	c.ProblemsOf[command.Name] = errorsOf(mistakes)
	c.Problems = append(c.Problems, errorsOf(mistakes)...)
}

// errorsOf returns mistakes as errors.
func errorsOf(mistakes []ext.Mistake) (errs []error) {
	for _, m := range mistakes {
		errs = append(errs, m)
	}
	return errs
}

// extFile is a file in a directory of commands or agents.
type extFile struct {
	ext.File
	below string // its path in that directory, with slashes
}

// The limits of the user's directories of commands and agents.
const (
	maxExtFiles = 1000
	maxExtDepth = 8
)

// userFiles reads the Markdown and TOML files in one of the user's directories. The files may be
// symbolic links, and so may the directory.
func userFiles(dir string, problem func(error)) (files []extFile) {
	read := func(name string) {
		f := extFile{below: filepath.ToSlash(name)}
		f.Name = filepath.Join(dir, name)
		if ext := path.Ext(name); ext != ".md" && ext != ".toml" {
			return
		}
		var err error
		if f.Data, err = userfiles.Read(f.Name, ext.MaxFile+1); err != nil {
			problem(ext.Mistake{File: f.Name, Text: "it cannot be read: " + texts.Error(err)})
			return
		}
		files = append(files, f)
	}
	err := filepath.WalkDir(dir+string(filepath.Separator), func(name string, entry fs.DirEntry, err error) error {
		below, outside := filepath.Rel(dir, name)
		switch {
		case err != nil && below == ".":
			return err
		case err != nil || outside != nil:
			problem(ext.Mistake{File: name, Text: "it cannot be read: " + texts.Error(errors.Join(err, outside))})
		case entry.IsDir() && strings.Count(filepath.ToSlash(below), "/") >= maxExtDepth:
			return fs.SkipDir
		case len(files) >= maxExtFiles:
			problem(ext.Mistake{File: dir, Text: fmt.Sprintf("there are more than %d files; the others are not used",
				maxExtFiles)})
			return fs.SkipAll
		case !entry.IsDir():
			read(below)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		problem(ext.Mistake{File: dir, Text: "it cannot be read: " + texts.Error(err)})
	}
	return files
}

// extFiles returns the files of the project in places, with the bytes on which its user has
// decided. The user's own directories, which a home directory that is a project has, are not the
// project's.
func (p *Project) extFiles(places []string, getenv func(string) string) (files []extFile) {
	if p == nil {
		return nil
	}
	own := userfiles.Dirs(places, getenv)
	for _, place := range places {
		dir := filepath.Join(p.Root, filepath.FromSlash(place))
		if slices.ContainsFunc(own, func(o string) bool { return p.isOwn(o, dir) }) {
			continue
		}
		for i := range p.Files {
			f := &p.Files[i]
			if below, in := strings.CutPrefix(f.Name, place+"/"); in && (f.Link == "" || f.Data != nil) {
				files = append(files, extFile{ext.File{Name: filepath.Join(p.Root, filepath.FromSlash(f.Name)),
					Data: f.Data, Origin: ext.Project}, below})
			}
		}
	}
	return files
}
