package llm

import (
	"context"
	"iter"
)

// Cost returns a middleware that reports the cost of each response in US dollars, by the prices in
// Request.Facts, before the response is passed on. Known is false and the amount 0 if the model or
// its prices are unknown. Failed attempts report nothing, since they have no usage. Requests that
// run at the same time report at the same time. Cost works the same inside and outside of a
// [Retry], because a model call has one response.
func Cost(report func(req *Request, resp *Response, usd float64, known bool)) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error] {
			return func(yield func(StreamEvent, error) bool) {
				for ev, err := range next(ctx, req) {
					if ev.Type == EventFinish && ev.Response != nil {
						usd, known := req.Facts.Cost(ev.Response.Usage)
						report(req, ev.Response, usd, known)
					}
					if !yield(ev, err) {
						return
					}
				}
			}
		}
	}
}
