package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// arguments holds the arguments of tools, of all dialects, that matter for a decision and are not in a call's Access.
type arguments struct {
	Workdir  string `json:"workdir"`
	DirPath  string `json:"dir_path"`
	Shell    string `json:"shell"`
	Login    bool   `json:"login"`
	TTY      bool   `json:"tty"`
	Sandbox  string `json:"sandbox_permissions"`
	Outside  bool   `json:"dangerouslyDisableSandbox"`
	Action   string `json:"action"`
	Chars    string `json:"chars"`
	Skill    string `json:"skill"`
	Name     string `json:"name"`
	Agent    string `json:"agent"`
	Kind     string `json:"subagent_type"`
	AgentIs  string `json:"agent_name"`
	EnvVars  vars   `json:"env_vars"`
	Env      vars   `json:"env"`
	Environs vars   `json:"environment"`
	Server   string `json:"server"`
}

// vars holds the names of environment variables, given as an object or as a list of NAME=value. A variable with a strange value stands there
// with its value.
type vars []string

func (v *vars) add(name, value string) {
	if shell.Strange(name, value) || shell.OtherCharacters(name, value) {
		name += "=" + value
	}
	*v = append(*v, name)
}

// UnmarshalJSON reads both forms. Anything else counts as a variable without a name.
func (v *vars) UnmarshalJSON(data []byte) error {
	var object map[string]json.RawMessage
	var list []string
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &object) == nil:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			value := string(object[name])
			_ = json.Unmarshal(object[name], &value) // what is no text stays as it is
			v.add(name, value)
		}
	case json.Unmarshal(data, &list) == nil:
		for _, pair := range list {
			name, value, _ := strings.Cut(pair, "=")
			v.add(name, value)
		}
	default:
		*v = vars{""}
	}
	return nil
}

// newCall lists what a call does.
func (s *Set) newCall(ctx context.Context, e env.Environment, req tool.Request) *call {
	c := &call{Set: s, ctx: ctx, env: e, req: req, kind: kindOf(req.Call.Name), dir: cmp.Or(req.Dir, e.WorkDir())}
	if c.kind == command && req.Access.Command == "" && len(req.Access.Paths) > 0 { // a patch in the form of a command
		c.kind = edit
	}
	var args arguments
	if c.kind != edit && c.kind != read {
		if err := json.Unmarshal([]byte(req.Call.Args), &args); err != nil && c.kind == command {
			c.add(part{asks: "its arguments cannot be read", exact: true})
		}
	}
	c.name = req.Call.Name
	if args.Server != "" && (c.name == "mcp_read" || c.name == "mcp_resources") { // one tool for the resources of all servers
		c.kind, c.name = mcp, "mcp__"+args.Server+"__"+c.name
	}
	for _, name := range req.Access.Paths {
		if !path.IsAbs(name) {
			name = c.dir + "/" + name
		}
		trees, names := looks(req.Call.Name)
		c.add(part{files: []file{{place: &place{named: name}, writes: req.Access.Effect != tool.ReadOnly, tree: trees, names: names}}})
	}
	for _, host := range req.Access.Hosts {
		p := part{host: host}
		if c.kind != mcp { // the host of a server is that of all its tools, so the tool's name decides
			p.asks, p.suggest = "it reads from "+host, []string{"WebFetch(domain:" + plainHost(host) + ")"}
		}
		c.add(p)
	}
	c.describe(args)
	return c
}

func (c *call) add(p part) { c.parts = append(c.parts, p) }

// describe adds the parts that depend on the kind of the tool.
func (c *call) describe(args arguments) {
	name := c.name
	readOnly := c.req.Access.Effect == tool.ReadOnly
	switch c.kind {
	case command:
		c.command(args)
	case input:
		if !readOnly && args.Action != "kill" && args.Chars != "\x03" {
			c.add(part{asks: "it writes to the input of a running command"})
		}
	case edit:
		if len(c.req.Access.Paths) == 0 {
			c.add(part{asks: "it is not known which files it changes"})
		}
	case fetch:
		if len(c.req.Access.Hosts) == 0 {
			c.add(part{asks: "it is not known from which host it reads"})
		}
	case agents:
		c.add(part{arg: cmp.Or(args.Agent, args.Kind, args.AgentIs)})
	case skill:
		p := part{arg: cmp.Or(args.Skill, args.Name)}
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
func (c *call) command(args arguments) {
	c.script = strings.TrimSpace(c.req.Access.Command)
	dir := cmp.Or(args.Workdir, args.DirPath, c.dir)
	if !path.IsAbs(dir) {
		dir = c.dir + "/" + dir
	}
	if why := args.unusual(); why != "" {
		c.add(part{asks: why, exact: true})
		c.script = "" // a rule for the script alone says nothing about the rest
	}
	script := shell.Parse(c.req.Access.Command, shell.Place{Dir: dir, Home: c.dirs.Home, Vars: c.dirs.Vars})
	if script.Unclear != "" {
		c.blind = true
		c.add(part{asks: script.Unclear, exact: true})
	}
	for i := range script.Commands {
		c.simple(&script.Commands[i])
	}
}

// unusual returns why the arguments besides the script ask.
func (a *arguments) unusual() string {
	for _, name := range slices.Concat(a.EnvVars, a.Env, a.Environs) {
		if !harmlessVar(name) {
			return "it sets the variable " + name + ", which can make programs run others"
		}
	}
	switch {
	case a.Shell != "":
		return "it chooses the shell " + a.Shell
	case a.Login:
		return "the shell reads its login files first"
	case a.TTY:
		return "in a terminal it may start other programs, such as pagers"
	case a.Sandbox == "require_escalated", a.Outside:
		return "it asks to run outside the sandbox"
	}
	return ""
}

// simple adds one command with the files that it uses.
func (c *call) simple(cmd *shell.Command) {
	p := part{forms: forms(cmd.Words), cmd: cmd}
	var reads []shell.File
	switch variable := slices.IndexFunc(cmd.Vars, func(v string) bool { return !harmlessVar(v) }); {
	case cmd.Unclear != "":
		p.asks, p.exact, c.blind = cmd.Unclear, true, true
	case variable >= 0:
		p.asks, p.exact = "it sets the variable "+cmd.Vars[variable]+", which can make programs run others", true
	case cmd.Wraps:
		p.asks = shell.Foreign(c.ctx, c.machine(), *cmd)
	default:
		alone := *cmd
		alone.Writes = nil // these are judged as files
		if reads, p.asks = shell.Reading(c.ctx, c.machine(), alone); p.asks != "" {
			p.exact = !c.insideRoots(cmd.Dir)
		}
	}
	if p.asks != "" {
		p.mentions(cmd)
	}
	for _, f := range reads {
		p.files = append(p.files, file{place: &place{named: f.Path}, tree: f.Tree && !f.Names, visible: f.Visible, links: f.Links, names: f.Names})
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

// machine describes where commands run.
func (c *call) machine() shell.Machine {
	return shell.Machine{Env: c.env, Home: c.dirs.Home, Vars: c.dirs.Vars, Outside: c.dirs.Outside,
		Resolve: c.dirs.Resolve, Roots: c.roots}
}

// shortened returns a command for a message.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:80]) + "..."
	}
	return text
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
		if w = strings.TrimPrefix(w, "@"); w == "" || strings.HasPrefix(w, "-") || strings.ContainsAny(w, "\x00\n") || len(w) > 4096 {
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
