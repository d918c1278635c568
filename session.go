package attractor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
)

// Session is a session that is wired: with its permissions, secrets, documents, servers and files.
// It has the methods of [agent.Session], and those of what was wired. They are safe for concurrent
// use, and Close may be called more than once.
type Session struct {
	*agent.Session
	setup *Setup
	inbox *permit.Inbox
	end   context.CancelFunc // of what starts beside the session

	mu       sync.Mutex
	warnings []string
}

// Open begins a session, or resumes or forks one. The caller closes it. An error in the Config says
// what to change. If ctx ends while Open runs, there is no session; later it has no effect.
//
// A program that has keys in its environment calls [env.Conceal] first, so that commands do not
// find them in its memory.
func Open(ctx context.Context, c Config) (*Session, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // servers may still start when the session is open
	stop := context.AfterFunc(ctx, end)
	s := &Session{end: end, inbox: c.Inbox}
	err := s.open(life, &c)
	if !stop() { // ctx has ended
		if err == nil {
			err = s.Close()
		}
		return nil, errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		end()
		return nil, err
	}
	return s, nil
}

// open opens the session.
func (s *Session) open(ctx context.Context, c *Config) (err error) {
	if s.setup, err = Prepare(ctx, *c); err != nil {
		return err
	}
	s.setup.Gate.HowToAllow = howToAllow
	s.setup.onEvent(func(ev agent.Event) {
		if w, ok := ev.(*agent.Warning); ok {
			s.warn(w.Text)
		}
	})
	for _, err := range s.setup.Unmasked {
		s.warn(err.Error())
	}
	for _, text := range s.setup.Rules.Warnings() {
		s.warn(text)
	}
	if s.Session, err = s.setup.Start(ctx); err != nil {
		return errors.Join(err, s.setup.Close())
	}
	return nil
}

// Prepare is the first half of Open, for hosts that change options or show something before the
// session starts: it reads, opens and connects what the Config says, and starts its servers. The
// caller calls Start and, after the session, Close. If ctx ends, servers that are still starting
// end with it.
func Prepare(ctx context.Context, c Config) (*Setup, error) {
	if c.ID != "" && c.Store != nil && c.Fork == "" && c.Resume == "" {
		known, err := has(ctx, c.Store, c.ID)
		if err != nil {
			return nil, err
		}
		if known {
			c.ID, c.Resume = "", c.ID
		}
	}
	w, err := c.wiring()
	if err != nil {
		return nil, err
	}
	s, err := prepare(ctx, *w)
	if err != nil {
		return nil, err
	}
	o := &s.Options
	fallbacks := o.Fallbacks
	o.Policy = DefaultPolicy()
	o.Fallbacks = fallbacks
	if w.Interactive {
		o.CacheLifetime = agent.CacheForPerson
	}
	s.limit(o)
	if c.Inbox != nil {
		o.Questions = &agent.Questions{Answer: c.Inbox.Question}
	}
	o.OnEvent = c.OnEvent
	if c.Options != nil {
		kept := *o
		c.Options(o)
		o.Client, o.Env, o.Journal, o.State, o.Next = kept.Client, kept.Env, kept.Journal, kept.State, kept.Next
	}
	return s, nil
}

// warn keeps a warning, unless there are too many.
func (s *Session) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warnings) < maxWarnings {
		s.warnings = append(s.warnings, text)
	}
}

// Warnings returns what was wrong so far and did not end the session, such as a server that has not
// started, rules with mistakes, or secrets that cannot be masked: the first 100. OnEvent gets them
// as [agent.Warning], as far as they are events; [agent.Session.Run] and Events do not have those
// of the wiring.
func (s *Session) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

// has reports whether a store has a session with an id that has begun.
func has(ctx context.Context, store journal.Store, id string) (bool, error) {
	log, err := store.Read(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for the session %s: %w", id, err)
	}
	return log.Len() > 0, log.Close()
}

// howToAllow is told with the refusal of a call that only a person could allow.
const howToAllow = "The program that runs this session allows such calls by Allow, Mode or Ask of attractor.Config"

// Close ends the session, its subagents, its servers and the processes that it has left running.
func (s *Session) Close() error {
	defer s.end()
	return errors.Join(s.Session.Close(), s.setup.Close())
}

// Setup returns what the session was wired with: its skills, rules and servers, what it has changed
// and can take back, its checks. Programs do not call its Start and Close.
func (s *Session) Setup() *Setup { return s.setup }

// Asks returns what waits for an answer in the Inbox, the oldest first, or nothing without one.
func (s *Session) Asks() []permit.Ask {
	if s.inbox == nil {
		return nil
	}
	return s.inbox.Open()
}

// Mode returns the mode, which says what becomes of calls about which the rules ask.
func (s *Session) Mode() permit.Mode { return s.setup.Mode() }

// SetMode changes the mode for the calls that are judged from now on, also those of subagents. The
// model is told. A read-only session stays read-only.
func (s *Session) SetMode(ctx context.Context, m permit.Mode) error { return s.setup.SetMode(ctx, m) }

// Model returns the model that was chosen, as provider/model.
func (s *Session) Model() string {
	provider, model, _ := s.setup.Model()
	return provider + "/" + model
}

// SetModel changes the model from the next model call on. The name is provider/model, or a model of
// the session's provider. Programs that use it do not change the model by Set.
func (s *Session) SetModel(ctx context.Context, name string) error {
	provider, model := s.setup.ModelNamed(name)
	return s.setup.SetModel(ctx, provider, model)
}

// SetEffort changes the level of effort from the next model call on. Empty means the provider's
// default.
func (s *Session) SetEffort(ctx context.Context, effort string) error {
	return s.setup.SetEffort(ctx, effort)
}

// Servers returns the state of each MCP server.
func (s *Session) Servers() []mcp.Status {
	if s.setup.Servers == nil {
		return nil
	}
	return s.setup.Servers.Status()
}

// Commands returns the commands of the session, by their names, besides the prompts of MCP servers.
func (s *Session) Commands() []Command { return s.setup.Commands() }

// SubmitCommand is Submit with a line that may call a command, such as /review main.go, or a prompt
// of an MCP server. /NAME alone that is no command is an error; any other line is submitted as it
// is.
func (s *Session) SubmitCommand(ctx context.Context, line string) (*agent.Result, error) {
	return s.setup.Submit(ctx, s.Session, line)
}
