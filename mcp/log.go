//lint:file-ignore SA1019 the newest protocol deprecates logging, and servers log all the same

package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxLogs = 10 // messages of a server in a second
	// Of texts in bytes. A log that masks secrets and then cuts texts at less than this has no part
	// of one at the end.
	maxLogged = 8 << 10
	maxShown  = 16 << 10
)

// logged passes a server's message on to the host's log.
func (s *server) logged(level string, said any) {
	s.mu.Lock()
	if now := time.Now().Unix(); now != s.second {
		s.second, s.logs = now, 0
	}
	s.logs++
	tooMany := s.logs > maxLogs
	s.mu.Unlock()
	if tooMany {
		return
	}
	text, ok := said.(string)
	if !ok {
		data, err := json.Marshal(said)
		if err != nil {
			return // cannot happen: it was decoded from JSON
		}
		text = string(data)
	}
	s.owner.o.Log.LogAttrs(context.Background(), levelOf(level), clean(text, maxLogged), slog.String("server", s.Name))
}

// logCalls is a middleware that logs requests to the server with their results.
func (s *server) logCalls(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		began := time.Now()
		result, err := next(ctx, method, req)
		attrs := []slog.Attr{slog.String("server", s.Name), slog.String("method", method),
			slog.String("params", shown(req.GetParams())),
			slog.String("result", shown(result)), slog.Duration("duration", time.Since(began))}
		if err != nil {
			attrs = append(attrs, slog.String("error", clean(err.Error(), maxLogged)))
		}
		s.owner.o.Log.LogAttrs(ctx, slog.LevelDebug, "mcp call", attrs...)
		return result, err
	}
}

// shown returns a value as JSON for the log, cut if it is long.
func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return clean(string(data), maxShown)
}

// wanted returns the lowest level of messages that the host's log takes, or "" if it takes none.
func (s *server) wanted() sdk.LoggingLevel {
	for _, level := range []sdk.LoggingLevel{"debug", "info", "warning", "error"} {
		if log := s.owner.o.Log; log != nil && log.Enabled(context.Background(), levelOf(string(level))) {
			return level
		}
	}
	return ""
}

const (
	// statefulVersion is the last version of the protocol that begins with initialize.
	statefulVersion = "2025-11-25"
	// statelessVersion is the first version of the protocol in which each request says what the
	// server may log for it.
	statelessVersion = "2026-07-28"
)

// askForLogs tells a server of an older version which messages it may send. One that refuses or
// does not answer logs as it likes.
func (s *server) askForLogs(ctx context.Context, c *conn) {
	r, level := c.session.InitializeResult(), s.wanted()
	if level == "" || r == nil || r.Capabilities == nil || r.Capabilities.Logging == nil ||
		r.ProtocolVersion >= statelessVersion {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_ = c.session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}) // it only logs otherwise then
}

// logsOf says in a request which messages the server may send while it works on it.
func (s *server) logsOf(c *conn, meta sdk.Meta) sdk.Meta {
	if r, level := c.session.InitializeResult(), s.wanted(); level != "" && r != nil &&
		r.ProtocolVersion >= statelessVersion {
		meta[sdk.MetaKeyLogLevel] = level
	}
	return meta
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
