package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Agent describes an agent that editors can run. Only Name, Version and Open are required. The
// functions may be called by several goroutines at once. Their errors are shown to people; an
// [*Error] has a code as well.
type Agent struct {
	Name, Title, Version string

	// Open starts or resumes a session. The context is that of the request, so the session must not
	// depend on it.
	Open func(ctx context.Context, o Opening) (*Session, error)
	// List returns a page of the sessions that can be resumed, those of a directory if dir is not
	// empty. The cursor is empty or the next of an earlier page. Nil means that sessions are not
	// listed.
	List func(ctx context.Context, dir, cursor string) (page []Listed, next string, err error)
	// Delete removes a session that is not open. Nil means that sessions are not deleted.
	Delete func(ctx context.Context, id string) error
	// Resumes says that Open can resume sessions.
	Resumes bool
	// Dirs says that sessions can have additional directories.
	Dirs bool
	// RemoteServers says that sessions can use MCP servers that speak streamable HTTP.
	RemoteServers bool

	// Auth lists the ways to authenticate, and Authenticate takes one. An error of Open with
	// [CodeAuthRequired] tells the editor that it needs one.
	Auth         []AuthMethod
	Authenticate func(ctx context.Context, method string) error

	// Logger gets what is wrong with the messages of the editor. Nil discards it.
	Logger *slog.Logger
}

// Opening says what session an editor wants.
type Opening struct {
	// Resume is the id of the session to resume. It is empty for a new session.
	Resume string
	// Dir is the working directory, an absolute path. Dirs are further directories.
	Dir  string
	Dirs []string
	// Servers are MCP servers for the session. They are the choice of the editor's user.
	Servers []Server
	// Client shows the session to the editor. It can be used until the session is closed.
	Client *Client
}

// Session holds a session that is open. Only Agent is required.
type Session struct {
	Agent *agent.Session
	// Submit gives the session a prompt. The text may be a command. Nil means the method of Agent.
	Submit func(ctx context.Context, text string, more ...llm.Part) (*agent.Result, error)
	// Replay yields the events of the session from before, for editors that load it. It may be
	// called while the session runs, whose events then wait.
	Replay func(ctx context.Context, show func(agent.Event)) error
	// Close is called when Agent has been closed.
	Close func() error
	// Options returns what can be chosen, and Set chooses. [Client.Changed] says that they have
	// changed.
	Options func() []Option
	Set     func(ctx context.Context, id, value string) error
	// Commands returns what can be called by /NAME. It is asked once the session is open, and after
	// each prompt.
	Commands func(ctx context.Context) []Command
	// CostUSD is what the session has cost before.
	CostUSD float64
}

// maxSessions limits the sessions that are open at a time.
const maxSessions = 64

// Serve serves one editor until the input ends, the output cannot be written to, or ctx ends. Then
// it closes all sessions, which it waits for. A Read or a Write that does not return by then is
// left behind.
func (a *Agent) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	log := a.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &server{Agent: a, conn: newConn(ctx, in, out, log), sessions: map[string]*session{}}
	s.conn.on = s
	written, read := make(chan struct{}), make(chan error, 1)
	go s.conn.write(written)
	go func() { read <- s.conn.read() }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
	case <-s.conn.ctx.Done():
		err = context.Cause(s.conn.ctx)
	}
	timer := time.AfterFunc(endTime, func() { s.conn.end(errGone) })
	defer timer.Stop()
	s.conn.stop(errGone)
	err = errors.Join(err, s.closeAll())
	s.conn.busy.Wait()
	s.conn.flush(written)
	return err
}

// server serves one editor.
type server struct {
	*Agent
	conn *conn

	mu       sync.Mutex
	client   *initializeParams   // nil before initialize
	sessions map[string]*session // by their ids; nil values are being opened or closed
	opening  int                 // new sessions that have no id yet
	over     bool
}

// notified handles a notification.
func (s *server) notified(method string, params json.RawMessage) {
	if method != methodCancel {
		s.conn.log.Debug("acp: an unknown notification", "method", method)
		return
	}
	p, err := decode[sessionParams](params)
	if err == nil {
		var open *session
		if open, err = s.find(p.Session); err == nil {
			open.cancel()
			return
		}
	}
	s.conn.log.Debug("acp: a cancellation without effect", "error", err)
}

// requested returns the work of a request.
func (s *server) requested(method string, params json.RawMessage) (work, error) {
	if method == methodInitialize {
		return s.initialize(params)
	}
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil, Errorf(CodeInvalidRequest, "the first request must be initialize")
	}
	switch {
	case method == methodAuthenticate && s.Authenticate != nil:
		return on(params, s.authenticate)
	case method == methodNew, method == methodLoad && s.Resumes, method == methodResume && s.Resumes:
		return s.openRequested(method, params)
	case method == methodList && s.List != nil:
		return on(params, s.list)
	case method == methodClose:
		return on(params, s.closeSession)
	case method == methodDelete && s.Delete != nil:
		return on(params, s.deleteSession)
	case method == methodPrompt:
		return s.prompt(params)
	case method == methodSetMode:
		return on(params, s.setMode)
	case method == methodSetOption:
		return on(params, s.setOption)
	}
	return nil, Errorf(CodeUnknownMethod, "this agent does not support the method %q", shortened(method, 100))
}

// on returns the work of a request whose params are a T.
func on[T any](params json.RawMessage, f func(context.Context, *T) (any, error)) (work, error) {
	p, err := decode[T](params)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, func(), error) {
		result, err := f(ctx, p)
		return result, nil, err
	}, nil
}

// empty is the result of requests that have none.
type empty struct{}

// initialize answers with the agent's capabilities. Whatever version the editor has, this agent has
// one.
func (s *server) initialize(params json.RawMessage) (work, error) {
	p, err := decode[initializeParams](params)
	if err != nil {
		return nil, err
	}
	if p.Version == nil || *p.Version < 0 {
		return nil, Errorf(CodeInvalidParams, "protocolVersion must be a whole number")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return nil, Errorf(CodeInvalidRequest, "the connection is initialized already")
	}
	s.client = p
	return func(context.Context) (any, func(), error) { return s.capabilities(), nil, nil }, nil
}

// capabilities returns the result of initialize.
func (s *server) capabilities() any {
	sessions := map[string]any{"close": empty{}}
	for name, has := range map[string]bool{"list": s.List != nil, "delete": s.Delete != nil, "resume": s.Resumes,
		"additionalDirectories": s.Dirs} {
		if has {
			sessions[name] = empty{}
		}
	}
	methods := s.Auth
	if methods == nil {
		methods = []AuthMethod{}
	}
	return map[string]any{
		"protocolVersion": version,
		"agentInfo":       Implementation{Name: s.Name, Title: s.Title, Version: s.Version},
		"agentCapabilities": map[string]any{
			"loadSession":         s.Resumes,
			"promptCapabilities":  map[string]bool{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     map[string]bool{"http": s.RemoteServers, "sse": false},
			"sessionCapabilities": sessions,
		},
		"authMethods": methods,
	}
}

func (s *server) authenticate(ctx context.Context, p *struct {
	Method string `json:"methodId"`
}) (any, error) {
	for _, m := range s.Auth {
		if m.ID == p.Method {
			return empty{}, s.Authenticate(ctx, p.Method)
		}
	}
	return nil, Errorf(CodeInvalidParams, "there is no authentication method %q", shortened(p.Method, 100))
}

func (s *server) list(ctx context.Context, p *listParams) (any, error) {
	if err := absolute("cwd", p.Dir); p.Dir != "" && err != nil {
		return nil, err
	}
	page, next, err := s.List(ctx, p.Dir, p.Cursor)
	if err != nil {
		return nil, err
	}
	if page == nil {
		page = []Listed{}
	}
	return struct {
		Sessions []Listed `json:"sessions"`
		Next     string   `json:"nextCursor,omitempty"`
	}{page, next}, nil
}

// closeAll closes all sessions, side by side, and waits for that.
func (s *server) closeAll() error {
	s.mu.Lock()
	s.over = true
	var open []*session
	for id, session := range s.sessions {
		if session != nil {
			open = append(open, session)
			s.sessions[id] = nil
		}
	}
	s.mu.Unlock()
	errs := make([]error, len(open))
	var all sync.WaitGroup
	for i, session := range open {
		all.Go(func() {
			if err := session.close(); err != nil {
				errs[i] = fmt.Errorf("session %s: %w", session.id, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
