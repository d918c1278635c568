package llm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
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
					logCall(ctx, cmp.Or(logger, slog.Default()), req, time.Since(begin), resp, failure)
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
	c := req.Caller
	attrs := append(known(slog.String("session", c.Session), slog.String("agent", c.Agent), slog.Int("step", c.Step),
		slog.Int("attempt", c.Attempt), slog.String("purpose", string(c.Purpose))),
		slog.String("provider", req.Provider), slog.String("model", req.Model), slog.Duration("duration", took))
	level := slog.LevelInfo
	switch {
	case failure != nil:
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error_kind", KindOf(failure)))
		var e *Error
		if errors.As(failure, &e) {
			attrs = append(attrs, known(slog.Int("status", e.Status), slog.String("code", e.Code),
				slog.String("request_id", e.RequestID))...)
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

// known returns the attributes whose values are not empty.
func known(attrs ...slog.Attr) []slog.Attr {
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool {
		return a.Value.Equal(slog.StringValue("")) || a.Value.Equal(slog.IntValue(0))
	})
}
