package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// At level debug the log has each request to a server with its result, cut if they are long, and at
// level info none.
func TestN7_CallsAreLogged(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log bytes.Buffer
		s := ready(t, Options{Servers: []Server{as(t, "raw", "raw")},
			Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level})), Warn: func(string, error) {}})
		run(t.Context(), t, s, "mcp__raw__do", what("other id"), tool.Call{})
		run(t.Context(), t, s, "mcp__raw__do", what(strings.Repeat("x", 100_000)), tool.Call{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got := 0
		for line := range strings.Lines(log.String()) {
			if len(line) > 3*maxShown {
				t.Errorf("a line of %d bytes", len(line))
			}
			if strings.Contains(line, `"msg":"mcp call","server":"raw","method":"tools/call","params":"{`) &&
				strings.Contains(line, `"duration":`) {
				got++
			}
		}
		if (got == 2) != want {
			t.Errorf("level %v: %d calls in the log:\n%s", level, got, log.String())
		}
	}
}
