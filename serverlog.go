package attractor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// mostLogged limits the messages of one server that a session shows, because a server may log for
// as long as it runs.
const mostLogged = 50

// serverLog shows what MCP servers log, from the level of a warning on, among the session's
// warnings. Each record names its server.
type serverLog struct {
	warn func(code, text string)

	mu    sync.Mutex
	shown map[string]int // by server
}

// Enabled implements slog.Handler.
func (l *serverLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (l *serverLog) Handle(_ context.Context, r slog.Record) error {
	var server string
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "server" {
			server = a.Value.String()
		}
		return true
	})
	l.mu.Lock()
	if l.shown == nil {
		l.shown = map[string]int{}
	}
	l.shown[server]++
	count := l.shown[server]
	l.mu.Unlock()
	if count > mostLogged {
		return nil
	}
	text := fmt.Sprintf("The MCP server %s logged: %s", server, r.Message)
	if count == mostLogged {
		text += "\n  What it logs from now on is not shown."
	}
	l.warn("mcp_log", text)
	return nil
}

// WithAttrs implements slog.Handler. Package mcp adds its attributes to each record.
func (l *serverLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *serverLog) WithGroup(string) slog.Handler { return l }
