package attractor

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/ext/hooks"
)

// openDebug prepares the log of a session, if there is one.
func (s *Setup) openDebug(c *config) {
	log := c.log.Logger(s.Secrets)
	if log == nil {
		return
	}
	c.client = c.log.Client(s.Secrets)
	s.Options.Logger = log
	if s.Options.ID == "" {
		s.Options.ID = uuid.NewString()
	}
	s.log = log.With("session", s.Options.ID)
	c.log.Tell(func(text string) { s.warnings.warn("debug_log", text) })
	s.warnings.log = s.log
}

// hookRan returns the function that logs the runs of hooks, nil without a log.
func (s *Setup) hookRan() func(hooks.Run) {
	if s.log == nil {
		return nil
	}
	return func(r hooks.Run) {
		level, attrs := slog.LevelInfo, []any{"event", string(r.Hook.Event), "about", r.About, "matcher",
			r.Hook.Matcher, "command", r.Hook.String(), "code", r.Code, "duration", r.Duration,
			"stdout", r.Stdout, "stderr", r.Stderr}
		if r.Err != nil {
			level, attrs = slog.LevelWarn, append(attrs, "error", r.Err.Error())
		}
		s.log.Log(context.Background(), level, "hook ran", attrs...)
	}
}

// serversLog returns the log of the MCP servers: their warnings are those of the session.
func (s *Setup) serversLog() *slog.Logger {
	shown := &serverLog{warn: s.warnings.add}
	if s.log == nil {
		return slog.New(shown)
	}
	return slog.New(slog.NewMultiHandler(shown, s.log.Handler()))
}
