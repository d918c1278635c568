package attractor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/lsp"
	"github.com/attractor-go/attractor/tool"
)

// The values of [Config].LanguageServers besides names.
const (
	NoLanguageServers  = "off"
	AllLanguageServers = "auto"
)

// projectLanguageServers is the file of a project's language servers.
const projectLanguageServers = ".attractor/lsp.json"

// userLanguageServers returns the file of the user's language servers:
// $XDG_CONFIG_HOME/attractor/lsp.json, else ~/.config/attractor/lsp.json.
func userLanguageServers(getenv func(string) string) (string, error) {
	dir, err := userfiles.ConfigDir(getenv)
	return filepath.Join(dir, "lsp.json"), err
}

// closeLanguageServers ends the language servers.
func (s *Setup) closeLanguageServers() error {
	if s.Languages == nil {
		return nil
	}
	return s.Languages.Close()
}

// openLanguageServers adds the language servers to the session. It starts none.
func (s *Setup) openLanguageServers(c *config) error {
	if c.LanguageServers == "" || c.LanguageServers == NoLanguageServers {
		return nil
	}
	list, err := s.languageServers(c)
	if err != nil {
		return err
	}
	var runs []string
	foreign := append(s.repositories(c.getenv("HOME")), s.here, s.Project.Root)
	for i := range list {
		one := &list[i]
		one.Refused = s.refuseLanguageServer(c, one)
		if _, set := one.Env["PATH"]; !set && s.far == nil && !s.boxed() && !s.Project.Chosen && !c.TrustProject {
			one.Env = maps.Clone(one.Env)
			if one.Env == nil {
				one.Env = map[string]string{}
			}
			one.Env["PATH"] = lookpath.Outside(os.Getenv("PATH"), foreign...) // also for what it starts
		}
		runs = append(runs, s.runByServer(cmp.Or(one.Dir, s.here), one.Command, one.Args, one.Env,
			string(one.Initialization), string(one.Settings))...)
	}
	s.guard(runs)
	s.Languages = lsp.New(lsp.Options{Env: s.Machine, Servers: list,
		Warn: func(err error) { s.warnings.add("lsp", err.Error()) }})
	o := &s.Options
	o.Closers = append(o.Closers, s.Languages)
	// It is outside of the gate and of hooks, which may change files after a call.
	o.Middleware = append([]tool.Middleware{s.inDir(s.Languages.Middleware)}, o.Middleware...)
	return nil
}

// languageServers returns the chosen servers among the user's, those of a trusted project and those
// that need no configuration, of which the first with a name counts. Mistakes are warnings of the
// session.
func (s *Setup) languageServers(c *config) ([]lsp.Server, error) {
	var lists [][]lsp.Server
	read := func(name string, data []byte, origin lsp.Origin) {
		list, problems := lsp.Parse(name, data, origin)
		for i := range list {
			if origin == lsp.Project { // where the programs are that are part of what is trusted
				list[i].Dir = filepath.ToSlash(s.Project.Root)
			}
		}
		lists = append(lists, list)
		s.warnAll("lsp_config", problems)
	}
	own, err := userLanguageServers(c.usersEnv)
	if err == nil { // without a home directory there is no file
		data, err := userfiles.Read(own, lsp.MaxConfig+1)
		if err == nil {
			read(own, data, lsp.User)
		} else if !errors.Is(err, fs.ErrNotExist) {
			s.warnings.add("lsp_config", "your language servers are not used: "+err.Error())
		}
	}
	file := filepath.Join(s.Project.Root, filepath.FromSlash(projectLanguageServers))
	switch f := s.Project.File(projectLanguageServers); {
	case f == nil:
	case s.Project.Trusted:
		read(file, f.Data, lsp.Project)
	default:
		list, _ := lsp.Parse(file, f.Data, lsp.Project) // mistakes are told once it is trusted
		var unused []string
		for i := range list {
			unused = append(unused, list[i].Name)
		}
		s.unused.Add("language servers", unused, s.Project.Because())
	}
	list, shadowed := lsp.Merge(append(lists, lsp.Defaults())...)
	s.warnAll("lsp_config", shadowed)
	chosen, err := chooseLanguageServers(list, c.LanguageServers)
	if v := s.settings.Get("lsp"); err != nil && v != nil && v.Origin.Place != settings.PlaceFlag {
		return nil, fmt.Errorf("%s: %w", v.Origin, err)
	}
	return chosen, err
}

// chooseLanguageServers returns the servers with the given names, separated by commas. The user is
// told if one of them is not installed.
func chooseLanguageServers(list []lsp.Server, chosen string) (found []lsp.Server, err error) {
	if chosen == AllLanguageServers {
		return list, nil
	}
	var known []string
	for i := range list {
		known = append(known, list[i].Name)
	}
	for name := range strings.SplitSeq(chosen, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fail(ErrConfig, "there is no language server %s; choose %s or %s, or some of %s",
				texts.Shown(name), AllLanguageServers, NoLanguageServers, strings.Join(known, ", "))
		}
		s := list[i]
		s.Optional = false
		found = append(found, s)
	}
	return found, nil
}

// refuseLanguageServer returns why a server must not be started, or "". A server reads a project's
// build files, and some run programs of the project. In a sandbox all may, because commands can do
// that too.
func (s *Setup) refuseLanguageServer(c *config, server *lsp.Server) string {
	remedy, decide := "; let it run in a sandbox (--sandbox workspace), or trust the project (--trust-project)",
		", or run: attractor trust"
	if s.far != nil {
		remedy, decide = "; trust the project (--trust-project)", ""
	}
	switch {
	case s.boxed() || c.TrustProject:
		return ""
	case s.Project.Unread:
		return "it reads the project's build files without a sandbox, and nobody has said that they trust the " +
			"project: confine commands by a sandbox, or trust it"
	case !s.Project.Trusted:
		return fmt.Sprintf("it reads the project's build files without a sandbox, and %s%s%s", s.Project.Because(),
			remedy, decide)
	case server.RunsProject && s.Project.Empty():
		return "it may run programs of the project without a sandbox, and nobody has said that they trust the project" +
			remedy
	}
	return ""
}
