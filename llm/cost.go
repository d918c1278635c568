package llm

import (
	"context"
	"iter"
)

// Cost reports what each answer cost, in US dollars by the prices in Request.Facts, before the answer is passed on. Known is
// false, and the amount 0, where the model or its prices are unknown. What failed has no usage and is not reported. Calls that
// run at the same time report at the same time. Among several middlewares it belongs inside of a [Retry] or outside of it
// alike: an answer comes once.
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
