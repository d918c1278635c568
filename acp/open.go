package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
)

// openRequested returns the work of the requests that open a session.
func (s *server) openRequested(method string, params json.RawMessage) (work, error) {
	p, err := decode[openParams](params)
	if err != nil {
		return nil, err
	}
	if method == methodNew {
		p.Session = ""
	} else if p.Session == "" {
		return nil, Errorf(CodeInvalidParams, "sessionId is missing")
	}
	o, err := s.openingOf(p)
	if err != nil {
		return nil, err
	}
	if open, err := s.find(p.Session); err == nil {
		return s.openAgain(open, o, method == methodLoad), nil
	}
	if err := s.reserve(p.Session); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, func(), error) {
		open, err := s.open(ctx, o, method == methodLoad)
		if err != nil {
			return nil, nil, err
		}
		result := open.settings()
		if method == methodNew {
			result["sessionId"] = open.id
		}
		return result, open.begin, nil
	}, nil
}

// settings returns the result of a request that opens the session, without its id.
func (o *session) settings() map[string]any {
	result := map[string]any{}
	if o.host.Options != nil {
		options := o.host.Options()
		if mode := modeOf(options); mode != nil {
			modes := []members{}
			for _, c := range mode.Choices {
				modes = append(modes, members{"id": c.Value, "name": c.Name, "description": c.Description})
			}
			result["modes"] = members{"currentModeId": mode.Value, "availableModes": modes}
		}
		result["configOptions"] = sentOptions(options)
	}
	return result
}

// openingOf checks what the editor wants.
func (s *server) openingOf(p *openParams) (Opening, error) {
	o := Opening{Resume: p.Session, Dir: p.Dir, Dirs: p.Dirs, Servers: p.Servers}
	if err := absolute("cwd", p.Dir); err != nil {
		return o, err
	}
	if len(p.Dirs) > 0 && !s.Dirs {
		return o, Errorf(CodeInvalidParams, "this agent does not support additionalDirectories")
	}
	for _, dir := range p.Dirs {
		if err := absolute("additionalDirectories", dir); err != nil {
			return o, err
		}
	}
	for i := range o.Servers {
		if err := s.checkServer(&o.Servers[i]); err != nil {
			return o, err
		}
	}
	return o, nil
}

// absolute returns an error if a path is not absolute.
func absolute(member, path string) error {
	if path == "" {
		return Errorf(CodeInvalidParams, "%s is missing", member)
	}
	if !filepath.IsAbs(path) {
		return Errorf(CodeInvalidParams, "%s must be an absolute path, not %q", member, shortened(path, 200))
	}
	return nil
}

// checkServer returns an error if a session cannot use an MCP server. A server without a type is a
// process.
func (s *server) checkServer(d *Server) error {
	name := shortened(d.Name, 100)
	switch d.Type = cmp.Or(d.Type, "stdio"); {
	case d.Name == "":
		return Errorf(CodeInvalidParams, "an MCP server has no name")
	case d.Type == "stdio" && d.Command == "":
		return Errorf(CodeInvalidParams, "the MCP server %q has no command", name)
	case d.Type == "stdio":
		return nil
	case d.Type != "http" || !s.RemoteServers:
		return Errorf(CodeInvalidParams, "the MCP server %q has the type %q, which this agent does not support",
			name, shortened(d.Type, 100))
	case d.URL == "":
		return Errorf(CodeInvalidParams, "the MCP server %q has no url", name)
	}
	return nil
}

// reserve makes room for a session, whose id is empty for a new one.
func (s *server) reserve(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions)+s.opening >= maxSessions {
		return Errorf(CodeInvalidRequest, "%d sessions are open; close one of them", maxSessions)
	}
	if id == "" {
		s.opening++
		return nil
	}
	if _, known := s.sessions[id]; known {
		return Errorf(CodeInvalidRequest, "the session %s is being opened or closed", id)
	}
	s.sessions[id] = nil
	return nil
}

// open opens a session. load shows what happened in it before.
func (s *server) open(ctx context.Context, o Opening, load bool) (*session, error) {
	open := newSession(s)
	open.id, open.opening = o.Resume, o
	o.Client = &Client{open}
	host, err := s.Open(ctx, o)
	if err == nil {
		open.host = host
		open.shown.begin(host)
		if load && host.Replay != nil {
			err = open.replay(ctx)
		}
		if err == nil {
			open.id = host.Agent.ID()
		} else {
			_ = open.close() // the other error counts
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Resume == "" {
		s.opening--
	} else {
		delete(s.sessions, o.Resume)
	}
	if err == nil && s.over {
		err = errGone
		s.mu.Unlock()
		_ = open.close() // there is nobody to tell
		s.mu.Lock()
	}
	if err != nil {
		return nil, err
	}
	s.sessions[open.id] = open
	open.known.Store(true)
	return open, nil
}

// find returns an open session.
func (s *server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, known := s.sessions[id]
	switch {
	case open != nil:
		return open, nil
	case known:
		return nil, Errorf(CodeInvalidRequest, "the session %s is being opened or closed", id)
	case id == "":
		return nil, Errorf(CodeInvalidParams, "sessionId is missing")
	}
	return nil, Errorf(CodeNotFound, "no session %q is open; session/new begins one", shortened(id, 100))
}

// closeSession ends a session in order.
func (s *server) closeSession(_ context.Context, p *sessionParams) (any, error) {
	open, err := s.find(p.Session)
	if err != nil {
		return nil, err
	}
	return empty{}, s.end(open)
}

// end closes a session, unless somebody else does.
func (s *server) end(open *session) error {
	s.mu.Lock()
	if s.sessions[open.id] != open {
		s.mu.Unlock()
		return nil
	}
	s.sessions[open.id] = nil
	s.mu.Unlock()
	err := open.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, open.id)
	return err
}

// deleteSession removes a session, which is closed before if it is open.
func (s *server) deleteSession(ctx context.Context, p *sessionParams) (any, error) {
	open, err := s.find(p.Session)
	switch {
	case err == nil:
		if err := s.end(open); err != nil {
			return nil, err
		}
	case asError(err).Code != CodeNotFound:
		return nil, err
	}
	return empty{}, s.Delete(ctx, p.Session)
}
