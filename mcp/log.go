package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

const (
	maxLogs   = 10 // messages of a server in a second
	maxLogged = 1 << 10
)

// logs counts the messages that a server has logged in a second.
type logs struct {
	second  int64
	count   int
	dropped int
}

// logged passes a server's message on to the host's log.
func (s *server) logged(level string, said any) {
	if s.owner.o.Log == nil {
		return
	}
	s.mu.Lock()
	if now := time.Now().Unix(); now != s.logs.second {
		s.logs.second, s.logs.count = now, 0
	}
	s.logs.count++
	if s.logs.count > maxLogs {
		s.logs.dropped++
		s.mu.Unlock()
		return
	}
	dropped := s.logs.dropped
	s.logs.dropped = 0
	s.mu.Unlock()

	text, ok := said.(string)
	if !ok {
		data, err := json.Marshal(said)
		if err != nil {
			return // cannot happen: it was decoded from JSON
		}
		text = string(data)
	}
	attrs := []slog.Attr{slog.String("server", s.Name)}
	if dropped > 0 {
		attrs = append(attrs, slog.Int("dropped", dropped))
	}
	s.owner.o.Log.LogAttrs(context.Background(), levelOf(level), clean(text, maxLogged), attrs...)
}

func levelOf(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		return slog.LevelError
	}
	return slog.LevelInfo
}
