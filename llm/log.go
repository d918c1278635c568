package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"
)

// Log returns a middleware that writes one line when a request is over: the caller as far as it is
// known, provider, model, duration, tokens and finish reason, or the error's kind, status, code and
// request id. In a session that is a line for each attempt. It never logs content or keys, nor the
// texts of errors, which may quote either. If the listener left before the end, the finish is
// "abandoned". Responses are logged at level info, failures at warn. A nil logger means
// slog.Default().
func Log(logger *slog.Logger) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error] {
			return func(yield func(StreamEvent, error) bool) {
				begin := time.Now()
				var resp *Response
				var failure error
				defer func() { // deferred, so that it runs when the listener's loop panics
					to := logger
					if to == nil {
						to = slog.Default()
					}
					logCall(ctx, to, req, time.Since(begin), resp, failure)
				}()
				for ev, err := range next(ctx, req) {
					failure = err
					if err == nil && ev.Type == EventFinish {
						resp = ev.Response
					}
					if !yield(ev, err) {
						return
					}
				}
			}
		}
	}
}

func logCall(ctx context.Context, to *slog.Logger, req *Request, took time.Duration, resp *Response, failure error) {
	attrs := append(req.Caller.attrs(), slog.String("provider", req.Provider), slog.String("model", req.Model),
		slog.Duration("duration", took))
	level := slog.LevelInfo
	switch {
	case failure != nil:
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error_kind", KindOf(failure)))
		var e *Error
		if errors.As(failure, &e) {
			attrs = appendKnown(attrs, e)
		}
	case resp == nil:
		attrs = append(attrs, slog.String("finish", "abandoned"))
	default:
		attrs = append(attrs, slog.String("finish", string(resp.Finish.Reason)),
			slog.Int("input_tokens", resp.Usage.Input), slog.Int("cache_read_tokens", resp.Usage.CacheRead),
			slog.Int("output_tokens", resp.Usage.Output))
	}
	to.LogAttrs(ctx, level, "model call", attrs...)
}

// attrs returns what is known of the caller.
func (c *Caller) attrs() (attrs []slog.Attr) {
	if c.Session != "" {
		attrs = append(attrs, slog.String("session", c.Session))
	}
	if c.Agent != "" {
		attrs = append(attrs, slog.String("agent", c.Agent))
	}
	if c.Step != 0 {
		attrs = append(attrs, slog.Int("step", c.Step))
	}
	if c.Attempt != 0 {
		attrs = append(attrs, slog.Int("attempt", c.Attempt))
	}
	if c.Purpose != "" {
		attrs = append(attrs, slog.String("purpose", string(c.Purpose)))
	}
	return attrs
}

func appendKnown(attrs []slog.Attr, e *Error) []slog.Attr {
	if e.Status != 0 {
		attrs = append(attrs, slog.Int("status", e.Status))
	}
	if e.Code != "" {
		attrs = append(attrs, slog.String("code", e.Code))
	}
	if e.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", e.RequestID))
	}
	return attrs
}
