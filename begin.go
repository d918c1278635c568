package attractor

import (
	"context"
	"errors"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Begin begins an input with a line that a person has written, as Submit does, and leaves the work
// to [agent.Session.Continue]. When err is nil, the input is in the journal. If the line is a
// command that names a model, the session uses that model until the caller calls restore, which it
// does when the session is at rest.
func (s *Setup) Begin(ctx context.Context, session *agent.Session, line string,
	more ...agent.SendOption) (restore func() error, err error) {
	restore = func() error { return nil }
	c, text, parts, err := s.message(ctx, line)
	if err != nil {
		return restore, err
	}
	if c != nil {
		if restore, err = s.changeModel(ctx, session, c); err != nil {
			return restore, err
		}
	}
	if err = session.Begin(ctx, text, append(more, agent.Attach(parts...))...); err != nil {
		return func() error { return nil }, errors.Join(err, restore())
	}
	return restore, nil
}

// FollowUp queues a line that a person has written, which may be a command, as an input after the
// running one. If the command names a model, that has no effect: the session keeps its own.
func (s *Setup) FollowUp(ctx context.Context, session *agent.Session, line string, more ...agent.SendOption) error {
	_, text, parts, err := s.message(ctx, line)
	if err != nil {
		return err
	}
	return session.FollowUp(ctx, text, append(more, agent.Attach(parts...))...)
}

// message returns the message for a line, and its command, which is nil if the line is sent as it
// is.
func (s *Setup) message(ctx context.Context, line string) (c *Command, text string, parts []llm.Part, err error) {
	c, arguments, err := s.find(line)
	if c == nil {
		return nil, line, nil, err
	}
	for _, problem := range c.problems[:min(len(c.problems), maxTold)] {
		s.warnings.add("commands", problem.Error())
	}
	if parts, err = s.fill(ctx, c, arguments); err != nil {
		return c, "", nil, err
	}
	if first, ok := parts[0].(llm.Text); ok {
		return c, first.Text, parts[1:], nil
	}
	return c, "", parts, nil
}
