package attractor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/secret"
)

// ServerSetup holds running MCP servers without a session.
type ServerSetup struct {
	Configured *load.Servers
	// Servers is nil if there are none.
	Servers *mcp.Servers
	Local   *env.Local
	Secrets *secret.Masker

	setup *Setup
	only  string
	mu    sync.Mutex
	warns []error
}

// StartServers starts the MCP servers of a configuration, or the only one with a name, and waits
// until each has listed its tools or failed. The caller must close the ServerSetup.
func StartServers(ctx context.Context, of Config, only string) (s *ServerSetup, err error) {
	c, err := of.apart()
	if err != nil {
		return nil, err
	}
	setup := &Setup{}
	s = &ServerSetup{setup: setup, only: only}
	defer func() {
		if err != nil {
			s, err = nil, errors.Join(err, setup.Close())
		}
	}()
	setup.openSecrets(c)
	if err := setup.openProject(c); err != nil {
		return s, err
	}
	if err := setup.openDir(ctx, c); err != nil {
		return s, err
	}
	s.Local, s.Secrets = setup.Local, setup.Secrets
	if s.Configured, err = c.servers(setup.Local.WorkDir(), setup.Project); err != nil {
		return s, err
	}
	list := slices.Clone(s.Configured.List)
	if only != "" {
		if list, err = s.Configured.Named(only); err != nil {
			return s, err
		}
	}
	for i := range list {
		list[i].Required = true // to be waited for
	}
	setup.startServers(ctx, c, list, s.warn)
	if s.Servers = setup.Servers; s.Servers != nil {
		_ = s.Servers.Ready(ctx) // Status has the errors
	}
	return s, nil
}

// warn keeps a warning of a server.
func (s *ServerSetup) warn(_ string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warns) < maxWarnings {
		s.warns = append(s.warns, err)
	}
}

// Status returns the status of the servers.
func (s *ServerSetup) Status() []mcp.Status {
	if s.Servers == nil {
		return nil
	}
	return s.Servers.Status()
}

// Failed returns an error that says which servers are not connected, or nil.
func (s *ServerSetup) Failed() error {
	var errs []error
	for _, st := range s.Status() {
		if st.Err != nil {
			errs = append(errs, fmt.Errorf("the MCP server %s: %w", st.Server.Name, st.Err))
		}
	}
	return errors.Join(errs...)
}

// Warnings returns what the servers' owner should know besides what Status says.
func (s *ServerSetup) Warnings() (texts []string) {
	for _, problem := range s.Configured.Problems {
		var about *mcp.Problem
		if s.only == "" || errors.As(problem, &about) && about.Server == s.only {
			texts = append(texts, problem.Error())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.warns {
		if !slices.ContainsFunc(s.Status(), func(st mcp.Status) bool {
			return st.Err != nil && errors.Is(err, st.Err)
		}) {
			texts = append(texts, describe(err))
		}
	}
	return texts
}

// Close ends the servers.
func (s *ServerSetup) Close() error { return s.setup.Close() }

// FindServer returns the server with a name as it is configured, without starting it.
func FindServer(c Config, name string) (mcp.Server, error) {
	s, err := configuredServers(&c)
	if err != nil {
		return mcp.Server{}, err
	}
	list, err := s.Named(name)
	if err != nil {
		return mcp.Server{}, err
	}
	return list[0], nil
}

// configuredServers reads the servers that are configured for the directory of a configuration.
func configuredServers(of *Config) (*load.Servers, error) {
	c, err := of.apart()
	if err != nil {
		return nil, err
	}
	return c.configuredServers()
}

// configuredServers reads the servers that are configured for the directory.
func (c *config) configuredServers() (*load.Servers, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	project, err := c.project(dir)
	if err != nil {
		return nil, err
	}
	return c.servers(dir, project)
}

// ServerNames returns the names of the servers that are configured, without starting any.
func ServerNames(c Config) (all []string) {
	s, err := configuredServers(&c)
	if err != nil {
		return nil
	}
	for i := range s.List {
		all = append(all, s.List[i].Name)
	}
	return all
}
