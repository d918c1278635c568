package secret

import (
	"context"
	"fmt"
	"log/slog"
)

// Log returns a handler that masks messages and attributes and passes the records on to h. An
// attribute of another type than the usual ones becomes text if its text has a secret.
func (m *Masker) Log(h slog.Handler) slog.Handler { return logHandler{h, m} }

type logHandler struct {
	slog.Handler
	masker *Masker
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	masked := slog.NewRecord(r.Time, r.Level, h.masker.String(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.masker.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(h.masker.attrs(attrs)), h.masker}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), h.masker}
}

func (m *Masker) attrs(attrs []slog.Attr) []slog.Attr {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = m.attr(a)
	}
	return masked
}

// attr returns an attribute without secrets.
func (m *Masker) attr(a slog.Attr) slog.Attr {
	a.Key = m.String(a.Key)
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(m.String(v.String()))
	case slog.KindGroup:
		v = slog.GroupValue(m.attrs(v.Group())...)
	case slog.KindAny:
		text := fmt.Sprintf("%+v", v.Any())
		if b, is := v.Any().([]byte); is {
			text = string(b)
		}
		if masked := m.String(text); masked != text {
			v = slog.StringValue(masked)
		}
	}
	a.Value = v
	return a
}
