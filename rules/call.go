package rules

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// newCall lists what a call does.
func (s *Set) newCall(ctx context.Context, e env.Environment, req tool.Request, observed bool) *call {
	c := &call{Set: s, ctx: ctx, env: e, req: req, observed: observed, kind: kindOf(req.Call.Name),
		dir: cmp.Or(req.Dir, e.WorkDir()), led: map[string]led{}, marks: map[string][]string{},
		trees: map[treeKey]finding{}, links: sync.OnceValue(s.namedLinks)}
	c.secretLinks = sync.OnceValue(func() []string { return s.linkedSecrets(c.links()) })
	c.questions = sync.OnceValues(c.ask)
	if c.kind == command && req.Access.Command == "" && len(req.Access.Paths) > 0 { // a patch in the form of a command
		c.kind = edit
	}
	if c.kind == other && req.Access.Command != "" {
		c.kind, c.own = command, true
	}
	c.name = req.Call.Name
	// one tool for all servers
	if server := req.Access.About; server != "" && (c.name == "mcp_read" || c.name == "mcp_resources") {
		c.kind, c.name = mcp, "mcp__"+server+"__"+c.name
	}
	for _, name := range req.Access.Paths {
		if !path.IsAbs(name) {
			name = c.dir + "/" + name
		}
		trees, names := looks(req.Call.Name)
		c.add(part{files: []file{{place: &place{named: name}, writes: req.Access.Effect != tool.ReadOnly, tree: trees,
			names: names}}})
	}
	for _, host := range req.Access.Hosts {
		p := part{host: host}
		if c.kind != mcp { // the host of a server is that of all its tools, so the tool's name decides
			p.asks, p.suggest = "it reads from "+host, []string{"WebFetch(domain:" + plainHost(host) + ")"}
		}
		c.add(p)
	}
	c.describe()
	return c
}

// add adds a part. No file has a name that is too long to be looked up, so that none is.
func (c *call) add(p part) {
	long := func(f file) bool { return len(f.place.named) > shell.MaxName }
	if slices.ContainsFunc(p.files, long) {
		p.files = slices.DeleteFunc(p.files, long)
		p.asks, p.exact = cmp.Or(p.asks, "it has the name of a file that is longer than the system takes"), true
	}
	c.parts = append(c.parts, p)
}

// describe adds the parts that depend on the kind of the tool.
func (c *call) describe() {
	name, access := c.name, c.req.Access
	readOnly := access.Effect == tool.ReadOnly
	if access.Asks != "" && c.kind != command {
		c.add(part{asks: access.Asks, exact: true})
	}
	switch c.kind {
	case command:
		c.command()
		if c.own && !readOnly {
			c.add(part{asks: fmt.Sprintf("it is not known what %s does", name), suggest: []string{name}})
		}
	case input:
		if !readOnly && !access.Ends {
			c.add(part{asks: "it writes to the input of a running command"})
		}
	case edit:
		if len(access.Paths) == 0 {
			c.add(part{asks: "it is not known which files it changes"})
		}
	case fetch:
		if len(access.Hosts) == 0 {
			c.add(part{asks: "it is not known from which host it reads"})
		}
	case agents:
		c.add(part{arg: access.About})
	case skill:
		p := part{arg: access.About}
		if !readOnly {
			p.asks, p.suggest = "it uses a skill", []string{"Skill(" + p.arg + ")"}
		}
		c.add(p)
	case mcp:
		c.add(part{asks: "it calls a tool of a server", suggest: []string{name}})
	case other:
		if !readOnly {
			c.add(part{asks: fmt.Sprintf("it is not known what %s does", name), suggest: []string{name}})
		}
	}
}

// command adds the commands of a script.
func (c *call) command() {
	access := c.req.Access
	if access.Command == "" && access.Effect == tool.Exclusive { // of a tool that does not say what it does
		c.add(part{asks: "it is not known which command it runs", exact: true})
	}
	c.script = strings.TrimSpace(access.Command)
	dir := cmp.Or(access.Dir, c.dir)
	if !path.IsAbs(dir) {
		dir = c.dir + "/" + dir
	}
	if why := unusual(access); why != "" {
		c.add(part{asks: why, exact: true})
		c.script = "" // a rule for the script alone says nothing about the rest
	}
	script := shell.Parse(access.Command, shell.Place{Dir: dir, Home: c.dirs.Home, Vars: c.dirs.Vars})
	if script.Unclear != "" {
		c.blind = true
		c.add(part{asks: script.Unclear, exact: true, hides: script.Unread})
	}
	for i := range script.Commands {
		c.simple(&script.Commands[i])
	}
}

// unusual returns why what a call says besides its script asks, or "".
func unusual(access tool.Access) string {
	for _, v := range access.Vars {
		name, value, _ := strings.Cut(v, "=")
		if shell.Strange(name, value) {
			name = v
		}
		if !harmlessVar(name) {
			return "it sets the variable " + name + ", which can make programs run others"
		}
	}
	return access.Asks
}

// simple adds one command with the files that it uses.
func (c *call) simple(cmd *shell.Command) {
	list, cut := forms(cmd.Words, maxFormText-c.formText)
	for _, form := range list {
		c.formText += len(form)
	}
	p := part{forms: list, cmd: cmd, hides: cmd.Hidden || cmd.Computed || cut}
	var reads []shell.File
	switch variable := slices.IndexFunc(cmd.Vars, func(v string) bool { return !harmlessVar(v) }); {
	case cmd.Unclear != "":
		p.asks, p.exact, c.blind = cmd.Unclear, true, true
	case variable >= 0:
		p.asks, p.exact = c.setting(cmd, cmd.Vars[variable]), true
	default:
		if reads, p.asks = c.reading(*cmd); p.asks != "" {
			p.exact = !c.insideRoots(cmd.Dir)
		}
	}
	if p.asks != "" {
		p.mentions(cmd)
	}
	for _, f := range reads {
		p.files = append(p.files, file{place: &place{named: f.Path}, tree: f.Tree && !f.Names, visible: f.Visible,
			links: f.Links, names: f.Names})
	}
	if len(reads) == 0 {
		for _, name := range cmd.Reads {
			p.files = append(p.files, file{place: &place{named: name}})
		}
	}
	for _, name := range cmd.Writes {
		p.files = append(p.files, file{place: &place{named: name}, writes: true})
	}
	if p.asks != "" {
		for _, f := range shell.Changes(c.ctx, c.env, *cmd) {
			p.files = append(p.files, file{place: &place{named: f.Path}, writes: true, known: true, tree: f.Tree})
		}
	}
	c.add(p)
}

// setting returns why a command asks for which the script sets a variable: the first one because of
// that, and those behind it, as in a loop, because of what they do, if they ask for themselves.
func (c *call) setting(cmd *shell.Command, name string) string {
	if !slices.Contains(c.settings, name) {
		c.settings = append(c.settings, name)
	} else if _, why := c.reading(*cmd); why != "" {
		return why
	}
	return "it sets the variable " + name + ", which can make programs run others"
}

// reading judges a command without the files that it writes, which are judged like those of tools.
func (c *call) reading(cmd shell.Command) (reads []shell.File, why string) {
	cmd.Writes = nil
	if cmd.Wraps { // the commands that it runs have its variables, and are in the same subshell
		cmd.Vars, cmd.Subshell = nil, false
	}
	return shell.Reading(c.ctx, c.machine(), cmd)
}

// machine describes where commands run. What PATH finds in the directory from which a work tree was
// made may be a program of the repository as well.
func (c *call) machine() shell.Machine {
	roots := slices.Concat(c.roots, c.dirs.Repository)
	for _, made := range c.dirs.Copies {
		roots = append(roots, made.Of)
	}
	return shell.Machine{Env: c.env, Home: c.dirs.Home, Vars: c.dirs.Vars, Outside: c.dirs.Outside,
		Resolve: c.leads(), Roots: roots, Observed: c.observed}
}

// leads returns Dirs.Resolve for one decision, in which it is asked about each path once: on
// another machine each question takes as long as the way there.
func (c *call) leads() func(name string) (string, error) {
	if c.dirs.Resolve == nil {
		return nil
	}
	return func(name string) (string, error) {
		to, ok := c.led[name]
		if !ok {
			to.path, to.err = c.dirs.Resolve(name)
			c.led[name] = to
		}
		return to.path, to.err
	}
}

// led is where a path leads, or why that is not known.
type led struct {
	path string
	err  error
}

// shortened returns a command for a message.
func shortened(text string) string {
	return texts.Cut(strings.Join(strings.Fields(text), " "), 80, "...")
}

// maxMentions is the number of words of a command that are taken for names of files.
const maxMentions = 200

// mentions adds the words that may be names of files which the command uses.
func (p *part) mentions(cmd *shell.Command) {
	words := cmd.Words[1:]
	for _, w := range words[:min(len(words), maxMentions)] {
		if _, value, ok := strings.Cut(w, "="); ok {
			w = value
		}
		if w = strings.TrimPrefix(w, "@"); w == "" || strings.HasPrefix(w, "-") || strings.ContainsAny(w, "\x00\n") ||
			len(w) > 4096 {
			continue
		}
		if !path.IsAbs(w) {
			if cmd.Dir == "" {
				continue
			}
			w = cmd.Dir + "/" + w
		}
		p.files = append(p.files, file{place: &place{named: w}, mention: true})
	}
}

// Files returns the files that a call reads or writes, also those of the commands in its script, as
// far as that is known. Directories that it searches or lists are not among them. Relative parts
// and links are as in the call.
func (s *Set) Files(ctx context.Context, e env.Environment, req tool.Request) (files []string) {
	for _, p := range s.newCall(ctx, e, req, false).parts {
		for i := range p.files {
			if f := &p.files[i]; !f.tree && !f.names {
				files = append(files, f.place.named)
			}
		}
	}
	return files
}
