package attractor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/trust"
)

// openServers reads the configuration of the MCP servers of a session and starts them.
func (s *Setup) openServers(ctx context.Context, c *config) (err error) {
	if c.NoMCP {
		if n := len(c.Servers); n > 0 {
			s.warnings.add("mcp_config",
				fmt.Sprintf("%d MCP servers of the editor are not started, because attractor was told to start none "+
					"(--no-mcp)", n))
		}
		return nil
	}
	if s.Configured, err = c.servers(s.here, s.Project); err != nil {
		return err
	}
	for _, problem := range s.Configured.Problems {
		s.warnings.add("mcp_config", problem.Error())
	}
	s.unused.Add("MCP servers", s.Configured.Untrusted, s.Configured.Why)
	var runs []string
	for i := range s.Configured.List {
		one := &s.Configured.List[i]
		runs = append(runs, s.runByServer(one.Dir, one.Command, one.Args, one.Env)...)
	}
	s.guard(runs)
	s.mcpWait = c.MCPWait
	s.startServers(ctx, c, s.Configured.List, func(_ string, err error) { s.warnings.add("mcp_server", describe(err)) })
	return nil
}

// runByServer returns the files of the project that a server's process runs. Without a directory it
// starts in an empty one. What its variables and more say may name files, too.
func (s *Setup) runByServer(dir, command string, args []string, vars map[string]string, more ...string) []string {
	if s.far != nil || command == "" {
		return nil
	}
	if dir == "" {
		dir = string(filepath.Separator)
	}
	words := append([]string{}, slices.Concat(args, slices.Sorted(maps.Values(vars)), more)...) // a program, no script
	return trust.Watched(s.projectHere(), userfiles.RealPath(dir), command, words...).Runs
}

// guard lets edits of files ask, because a server would run them without a question.
func (s *Setup) guard(files []string) {
	if len(files) > 0 {
		s.Options.Env = env.Protect(s.Options.Env, env.Protection{Ask: files})
	}
}

// offerServers waits for the servers that the session needs, and offers the tools of those that are
// ready.
func (s *Setup) offerServers(ctx context.Context) error {
	if s.Servers == nil {
		return nil
	}
	if err := s.Servers.Ready(ctx); err != nil {
		return fail(ErrServer, "%w", err)
	}
	if err := s.awaitServers(ctx); err != nil {
		return err
	}
	s.Options.Tools = append(slices.Clip(s.Options.Tools), s.Servers.Tools()...)
	return nil
}

// joinServers lets the servers change the tools of the session, until they are closed.
func (s *Setup) joinServers() {
	if s.Servers != nil {
		s.Servers.Join(s.offering(s.session))
	}
}

// closeServers ends the servers, and what is left of them.
func (s *Setup) closeServers() error {
	if s.Servers == nil {
		return nil
	}
	return errors.Join(s.Servers.Close(), s.places.close())
}

// awaitServers waits for servers that are still starting, as long as the configuration says, and
// warns about those that need longer. It returns an error only if the context ends.
func (s *Setup) awaitServers(ctx context.Context) error {
	if s.mcpWait <= 0 {
		return nil
	}
	starting := s.Servers.Await(ctx, s.mcpWait)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(starting) > 0 {
		s.warnings.add("mcp_server",
			fmt.Sprintf("after %s these MCP servers are still starting: %s. Their tools join the "+
				"session when they are ready; a longer wait (--mcp-wait) has them from the beginning, and 0 waits "+
				"for none", s.mcpWait,
				texts.SomeNames(starting)))
	}
	return nil
}

// startServers starts servers, if there are any.
func (s *Setup) startServers(ctx context.Context, c *config, list []mcp.Server, warn func(server string, err error)) {
	if len(list) == 0 {
		return
	}
	s.places = &places{dir: s.here, limits: c.Limits, confine: c.Sandbox, box: s.box, environ: serverEnviron(c)}
	s.places.foreign = append(s.repositories(c.getenv("HOME")), s.here, s.Project.Root)
	s.Unmasked = append(s.Unmasked, maskServers(s.Secrets, list)...)
	o := mcp.Options{Servers: list, Env: s.places.env, Answers: c.Ask != nil, Budget: mcp.BudgetFor(s.modelWindow()),
		Secret: func(name, value string) { _ = s.Secrets.Register(name, value) }, // a short token cannot be masked
		Mask:   s.Secrets.String,
		Warn:   warn, Log: s.serversLog()}
	if state, err := userfiles.StateDir(c.getenv); err == nil {
		s.places.state = filepath.Join(state, "attractor", "mcp", "cwd")
		if !c.WithoutUser { // else what the user has accepted and where they are logged in does not count
			o.Tokens = load.TokensIn(state)
			o.Pins = newPins(filepath.Join(state, "attractor", "mcp", "pins"), s.Project.Root, list)
		}
	}
	s.Servers = mcp.Start(ctx, o)
}

// mostServers limits the changed tools that a warning shows.
const mostServers = 10

// maxShown limits the description of a changed tool in a warning.
const maxShown = 300

// describe returns what a warning says about a server's problem. Of changed tools it has the new
// descriptions.
func describe(err error) string {
	var changed *mcp.ChangedError
	if !errors.As(err, &changed) {
		return err.Error()
	}
	text := err.Error()
	for i := range changed.Tools[:min(len(changed.Tools), mostServers)] {
		text += fmt.Sprintf("\n  %s: %s", changed.Tools[i].Name, oneLine(changed.Tools[i].Description))
	}
	if changed.Instructions != "" {
		text += "\n  instructions: " + oneLine(changed.Instructions)
	}
	return text
}

// oneLine returns a description on one line, cut if it is long.
func oneLine(text string) string {
	return texts.Cut(strings.Join(strings.Fields(text), " "), maxShown, " [...]")
}

// serverEnviron returns the variables that every server gets: where programs are, the home
// directory and the language.
func serverEnviron(c *config) (environ []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES",
		"LC_MONETARY", "LC_NUMERIC", "LC_TIME"} {
		if value := c.getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// places holds the environments in which servers run: that of the user's, which is contained and
// not confined, and those of the project's, which are confined as commands are.
type places struct {
	dir     string
	foreign []string // directories with programs that are not the user's
	limits  env.Limits
	confine sandbox.Options
	box     *sandbox.Sandbox // of the session
	environ []string
	state   string // below which empty directories are made; empty means the system's temporary directory

	mu     sync.Mutex
	empty  []string // directories that were made for servers
	locals map[string]*env.Local
	boxes  []*sandbox.Sandbox
}

// outside returns the variables of servers without what PATH has of the project and around it.
func (p *places) outside() []string {
	environ := slices.Clone(p.environ)
	for i, v := range environ {
		if path, is := strings.CutPrefix(v, "PATH="); is {
			environ[i] = "PATH=" + lookpath.Outside(path, p.foreign...)
		}
	}
	return environ
}

// env returns the environment for a server. Servers that may reach the same hosts share one, except
// those that start in an empty directory.
func (p *places) env(s mcp.Server) (env.Environment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	confined := s.Origin == mcp.Project && p.box.Level() != sandbox.Off
	key := s.Origin.String()
	if confined {
		hosts := slices.Sorted(slices.Values(s.Hosts))
		key += "\n" + strings.Join(hosts, "\n")
	}
	if load.IsAway(&s) {
		key += "\n" + s.Name
	}
	if known := p.locals[key]; known != nil {
		return known, nil
	}
	o := env.LocalOptions{Environ: p.environ, Vars: env.VarsAll}
	if load.IsAway(&s) { // nothing of the project starts, also where PATH leads into it
		o.Environ = p.outside()
	}
	if s.Origin == mcp.Project {
		o.Limits = p.limits
	}
	if confined {
		box, err := p.boxFor(s.Hosts)
		if err != nil {
			return nil, err
		}
		o = box.Confine(o)
	}
	local, err := p.local(&s, o)
	if err != nil {
		return nil, err
	}
	if p.locals == nil {
		p.locals = map[string]*env.Local{}
	}
	p.locals[key] = local
	return local, nil
}

// local returns a new environment in the directory of the session, or in an empty one.
func (p *places) local(s *mcp.Server, o env.LocalOptions) (*env.Local, error) {
	if !load.IsAway(s) {
		return env.NewLocal(p.dir, o)
	}
	dir, err := p.emptyDir()
	if err != nil {
		return nil, fmt.Errorf("there is no directory for it: %w", err)
	}
	return env.NewLocal(dir, o)
}

// emptyDir makes an empty directory for a server, in the user's state, above which nobody else can
// put files. It is removed when the servers are closed.
func (p *places) emptyDir() (string, error) {
	if p.state != "" {
		if err := os.MkdirAll(p.state, 0o700); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(p.state, "server-")
	if err != nil {
		return "", err
	}
	p.empty = append(p.empty, dir)
	return filepath.EvalSymlinks(dir)
}

// boxFor returns the sandbox of the session, or one like it that also reaches hosts.
func (p *places) boxFor(hosts []string) (*sandbox.Sandbox, error) {
	if len(hosts) == 0 || p.confine.Network {
		return p.box, nil
	}
	o := p.confine
	o.AllowHosts = append(slices.Clone(o.AllowHosts), hosts...)
	box, err := openSandbox(p.dir, o)
	if err == nil {
		p.boxes = append(p.boxes, box)
	}
	return box, err
}

// close ends what is left of the servers.
func (p *places) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, local := range p.locals {
		errs = append(errs, local.Close())
	}
	for _, box := range p.boxes {
		errs = append(errs, box.Close())
	}
	for _, dir := range p.empty { // with what servers have left there
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
