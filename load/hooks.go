package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// ConfiguredHooks holds the hooks that are configured for a directory.
type ConfiguredHooks struct {
	// List holds the hooks that run: the user's and those of a project that is trusted.
	List []hooks.Hook
	// Untrusted holds the project's hooks that do not run. Why is the reason.
	Untrusted []hooks.Hook
	Why       string
	// Mistakes lists what is wrong in the files. Lost has those because of which a hook that could
	// prevent something is not used.
	Mistakes, Lost []ext.Mistake
	// Off names the files that turn hooks off.
	Off []string
}

// projectHooks lists the files of a project that may have hooks.
func projectHooks() []string {
	return slices.Concat([]string{".attractor/hooks.json"}, projectClaudeSettings(), []string{".codex/hooks.json"})
}

// userHooks lists the user's files that may have hooks: their own, and those for Claude Code and
// codex.
func userHooks(getenv func(string) string) (files []string) {
	config, err := userfiles.ConfigDir(getenv)
	if err != nil {
		config = "" // without a home directory there is none
	}
	for _, place := range [][2]string{{config, "hooks.json"}, {userfiles.ClaudeDir(getenv), "settings.json"},
		{userfiles.CodexDir(getenv), "hooks.json"}} {
		if dir, name := place[0], place[1]; dir != "" {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// ReadHooks reads the hooks that are configured for a project. Those of a project that is not
// trusted are among the Untrusted.
func ReadHooks(project *Project, getenv func(string) string) *ConfiguredHooks {
	c := &ConfiguredHooks{}
	var own []string
	off := false
	for _, name := range userHooks(getenv) {
		data, err := userfiles.ReadSettings(name, ext.MaxFile+1)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if own = append(own, name); err != nil {
			c.add(name, hooks.Parsed{Lost: []ext.Mistake{{File: name,
				Text: fmt.Sprintf("your hooks in it are not used: %v", err)}}})
			continue
		}
		parsed := hooks.Parse(ext.File{Name: name, Data: data})
		c.add(name, parsed)
		c.List = append(c.List, parsed.Hooks...)
		off = off || parsed.Disabled
	}
	theirs := c.projects(project, own)
	switch {
	case off:
		c.List = nil
	case project != nil && !project.Trusted:
		c.Untrusted, c.Why = theirs, project.Because()
	default:
		c.List = append(c.List, theirs...)
	}
	return c
}

// projects returns the hooks in the files of a project that are not the user's own.
func (c *ConfiguredHooks) projects(project *Project, own []string) (all []hooks.Hook) {
	if project == nil {
		return nil
	}
	off := false
	for _, name := range projectHooks() {
		file := filepath.Join(project.Root, filepath.FromSlash(name))
		f := project.File(name)
		if f == nil || slices.ContainsFunc(own, func(o string) bool { return project.isOwn(o, file) }) {
			continue
		}
		parsed := hooks.Parse(ext.File{Name: file, Data: f.Data, Origin: ext.Project})
		if project.Trusted {
			c.add(file, parsed)
			off = off || parsed.Disabled
		}
		all = append(all, parsed.Hooks...)
	}
	if off {
		return nil
	}
	return all
}

// add adds what is wrong in a file, and that it turns hooks off.
func (c *ConfiguredHooks) add(name string, p hooks.Parsed) {
	c.Mistakes, c.Lost = append(c.Mistakes, p.Mistakes...), append(c.Lost, p.Lost...)
	if p.Mistakes == nil {
		c.Mistakes = append(c.Mistakes, p.Lost...)
	}
	if p.Disabled {
		c.Off = append(c.Off, name)
	}
}

// UnusedEvents names the events whose hooks do not run.
func (c *ConfiguredHooks) UnusedEvents() (events []string) {
	for i := range c.Untrusted {
		events = append(events, string(c.Untrusted[i].Event))
	}
	slices.Sort(events)
	return slices.Compact(events)
}
