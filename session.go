package attractor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/permit"
)

// Session is a session that is wired: with its permissions, secrets, documents, servers and files. It
// has the methods of [agent.Session], and those of what was wired. They are safe for concurrent use.
type Session struct {
	*agent.Session
	setup *host.Setup
}

// Open begins a session, or resumes or forks one. The caller closes it. An error in the Config says
// what to change.
func Open(ctx context.Context, c Config) (*Session, error) {
	h := c.host()
	if c.ID != "" && c.Store != nil && c.Resume == "" && c.Fork == "" {
		known, err := has(ctx, c.Store, c.ID)
		if err != nil {
			return nil, err
		}
		if known {
			h.ID, h.Resume = "", c.ID
		}
	}
	setup, err := host.Open(ctx, h)
	if err != nil {
		return nil, err
	}
	setup.Options.Policy.Budget, setup.Options.OnEvent = c.Budget, c.OnEvent
	setup.Gate.HowToAllow = howToAllow
	if c.Inbox != nil {
		setup.Options.Questions = &agent.Questions{Answer: c.Inbox.Question}
	}
	if c.Options != nil {
		c.Options(&setup.Options)
	}
	session, err := setup.Start(ctx)
	if err != nil {
		return nil, errors.Join(err, setup.Close())
	}
	return &Session{session, setup}, nil
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
func (s *Session) Close() error { return errors.Join(s.Session.Close(), s.setup.Close()) }

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
// the session's provider.
func (s *Session) SetModel(ctx context.Context, name string) error {
	provider, model, both := strings.Cut(name, "/")
	if !both {
		provider, model = "", name
	}
	return s.setup.SetModel(ctx, provider, model)
}

// Command is what can be called by /NAME: a skill, a command of a file, or a prompt of a server.
type Command struct {
	Name        string // without the slash
	Description string
	Hint        string // what its arguments are, for people
}

// Commands returns the commands of the session, by their names.
func (s *Session) Commands() (list []Command) {
	for _, c := range s.setup.Commands() {
		list = append(list, Command{c.Name, c.Description, c.Hint})
	}
	return list
}

// SubmitCommand is Submit with a line that may call a command, such as /review main.go. A single word
// that is no command is an error; any other line is submitted as it is.
func (s *Session) SubmitCommand(ctx context.Context, line string) (*agent.Result, error) {
	return s.setup.Submit(ctx, s.Session, line)
}
