package shell

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
)

// The limits of what is searched for attributes that name drivers. Beyond them git commands ask.
const (
	maxAttributeDirs = 5000
	maxAttributeWalk = 20_000 // entries of directories
)

// drivers returns why git may run a program that converts, compares or merges files. The configuration says what the drivers are, and attributes
// of files choose among them. A driver that no attribute names does not run.
func (r *read) drivers(repo *repository) string {
	d := &drivers{read: r, repo: repo}
	for _, s := range repo.settings() {
		if why := d.add(s); why != "" {
			return why
		}
	}
	if len(d.wanted) == 0 {
		return ""
	}
	for _, look := range []func() string{d.settled, d.tracked, d.around, d.everywhere} {
		if why := look(); why != "" {
			return why
		}
	}
	return ""
}

// drivers looks for attributes that name drivers of the configuration.
type drivers struct {
	*read
	repo   *repository
	wanted []string // the attributes, such as filter=lfs
	files  []string // the user's files of attributes
	old    bool     // a driver may also run for files that were there earlier
}

// add adds the driver that a setting configures. It returns why the driver may run without an attribute.
func (d *drivers) add(s git.Setting) string {
	section, key := s.Section(), s.Key()
	program := section == "filter" && (key == "clean" || key == "smudge" || key == "process") || section == "diff" && (key == "command" || key == "textconv") ||
		section == "merge" && key == "driver"
	name, _ := strings.CutPrefix(strings.TrimSuffix(s.Name, "."+key), section+".")
	switch {
	case s.Name == "core.attributesfile":
		file, ok := s.Value, true
		if rest, home := strings.CutPrefix(file, "~/"); home {
			file = path.Join(d.Home, rest)
		} else {
			ok = path.IsAbs(file)
		}
		if !ok {
			return "the configuration of git names attributes in " + s.Value
		}
		d.files = append(d.files, file)
	case s.Name == "attr.tree", s.Name == "merge.default":
		return "the configuration of git has " + s.Name + ", which may choose a driver"
	case !program:
	case strings.Count(s.Name, ".") < 2, section == "diff" && name == "default":
		return fmt.Sprintf("the configuration of git has %s, which may run a program", s.Name)
	default:
		d.wanted = append(d.wanted, section+"="+name)
		d.old = d.old || section != "filter"
	}
	return ""
}

// choose returns why a driver may run because of a file of attributes.
func (d *drivers) choose(text, file string) string {
	if strings.ContainsRune(text, 0) {
		return "the attributes in " + file + " are no text"
	}
	for line := range strings.Lines(text) {
		words := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\r\n", c) })
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		for _, w := range words[1:] {
			if slices.Contains(d.wanted, w) {
				return fmt.Sprintf("git may run a program: %s has %s, which the configuration of git explains", file, w)
			}
		}
	}
	return ""
}

// look reads a file of attributes, if it exists.
func (d *drivers) look(file string) string {
	text, err := d.read.read(file)
	switch {
	case missing(err):
		return ""
	case err != nil:
		return "the attributes in " + file + " cannot be read here"
	}
	return d.choose(string(text), file)
}

// settled looks at the files of attributes outside the work tree: those of the system, of the user and of the repository.
func (d *drivers) settled() string {
	user := d.variable("XDG_CONFIG_HOME")
	if user == "" {
		user = path.Join(d.Home, ".config")
	}
	for _, file := range append(d.files, "/etc/gitattributes", "/usr/local/etc/gitattributes", "/opt/homebrew/etc/gitattributes", path.Join(user, "git/attributes"),
		path.Join(d.repo.CommonDir, "info/attributes"), path.Join(d.repo.GitDir, "info/attributes")) {
		if why := d.look(file); why != "" {
			return why
		}
	}
	return ""
}

// tracked looks at the attributes in the directories with tracked files. Git takes those of a file that is missing from the index.
func (d *drivers) tracked() string {
	index, err := git.ReadIndex(d.ctx, d.Machine.files(), d.repo.Repository)
	if err != nil {
		return "the attributes in the index of the repository cannot be read"
	}
	if len(index.Dirs) > maxAttributeDirs && !d.old {
		return "there are too many directories to look for attributes that name programs"
	}
	for _, name := range index.Attributes {
		info, err := d.Machine.files().Lstat(d.ctx, path.Join(d.repo.Top, path.Dir(name)), path.Base(name))
		if err != nil || !info.Mode.IsRegular() {
			return "git may take the attributes in " + name + " from the index, and they may name a program"
		}
	}
	if d.old { // all directories are looked into
		return ""
	}
	for _, dir := range index.Dirs {
		if why := d.look(path.Join(d.repo.Top, dir, ".gitattributes")); why != "" {
			return why
		}
	}
	return ""
}

// around looks at the attributes around the operands of the command: git blame also converts a file that is not tracked any more.
func (d *drivers) around() string {
	for _, name := range d.operands {
		file, _ := absolute(d.dir, name)
		for dir := path.Dir(path.Clean(file)); within(dir, d.repo.Top); dir = path.Dir(dir) {
			if why := d.look(path.Join(dir, ".gitattributes")); why != "" {
				return why
			}
		}
	}
	return ""
}

// everywhere looks into all directories of the work tree, if a driver may run for files that are not tracked any more.
func (d *drivers) everywhere() string {
	if !d.old {
		return ""
	}
	left := maxAttributeWalk
	for dirs := []string{d.repo.Top}; len(dirs) > 0; {
		dir := dirs[0]
		dirs = dirs[1:]
		if why := d.look(path.Join(dir, ".gitattributes")); why != "" {
			return why
		}
		entries, err := d.Env.ReadDir(d.ctx, dir)
		if left -= len(entries); err != nil || left < 0 {
			return "the work tree is too large, or cannot be searched, for attributes that name programs"
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name)
			switch {
			case e.IsDir() && e.Name != ".git":
				dirs = append(dirs, name)
			case e.Mode&fs.ModeSymlink == 0:
			default:
				if info, err := d.Env.Stat(d.ctx, name); err != nil && !missing(err) || err == nil && info.IsDir() {
					return "attributes behind the symbolic link " + name + " may name a program"
				}
			}
		}
	}
	return ""
}
