package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// Text returns a step that responds with plain text.
func Text(text string) Step { return Answer(llm.Text{Text: text}) }

// Calls returns a step that responds with tool calls. Calls without an id get call_ with the number
// of messages in the request and their index. Such ids differ within a conversation and are the
// same in every run.
func Calls(calls ...llm.ToolCall) Step {
	parts := make([]llm.Part, len(calls))
	for i, c := range calls {
		parts[i] = c
	}
	return Answer(parts...)
}

// Answer returns a step that responds with any parts. Its usage is an estimate of one token for
// every four bytes.
func Answer(parts ...llm.Part) Step {
	return Respond(llm.Response{Message: llm.Message{Parts: parts}})
}

// Respond returns a step with a whole response. A missing finish reason becomes tool_calls or stop,
// a missing usage is estimated, and provider and model are filled in.
func Respond(resp llm.Response) Step {
	return stream(resp, false, func(s *sender, r *llm.Response) {
		s.send(llm.StreamEvent{Type: llm.EventFinish, Response: r})
	})
}

// stream returns a step that sends a response's events before the finish, without the end of the
// last part if open is set, and then calls end unless the listener has left.
func stream(resp llm.Response, open bool, end func(s *sender, r *llm.Response)) Step {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		r := complete(resp, req)
		return func(yield func(llm.StreamEvent, error) bool) {
			s := &sender{ctx: ctx, yield: yield, open: open}
			if s.send(llm.StreamEvent{Type: llm.EventStart, ID: r.ID, Model: r.Model}) && s.parts(r.Message.Parts) {
				end(s, r)
			}
		}
	}
}

// Error returns a step that fails before anything was delivered.
func Error(err error) Step {
	return func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] { return llm.Fail(err) }
}

// Torn returns a step that fails after some text.
func Torn(text string, err error) Step { return TornParts(err, llm.Text{Text: text}) }

// TornParts returns a step that fails after the deltas of some parts. It does not send the end of
// the last one.
func TornParts(err error, parts ...llm.Part) Step {
	return stream(llm.Response{Message: llm.Message{Parts: parts}}, true,
		func(s *sender, _ *llm.Response) { s.yield(llm.StreamEvent{}, err) })
}

// Hang returns a step that delivers nothing until the context ends, and then fails with
// [llm.ErrAborted].
func Hang() Step { return Gate(nil, nil, nil) }

// HangAfter returns a step like [Hang] that first sends the deltas of some parts, without the end
// of the last one.
func HangAfter(parts ...llm.Part) Step {
	return stream(llm.Response{Message: llm.Message{Parts: parts}}, true, func(s *sender, _ *llm.Response) {
		<-s.ctx.Done()
		s.yield(llm.StreamEvent{}, aborted(s.ctx))
	})
}

// Gate returns a step that waits until open is closed, and then takes another step. If the context
// ends first, it fails with [llm.ErrAborted]. Started, unless nil, is closed when the call has
// arrived, so that a test knows when to act; such a step can be taken once.
func Gate(started chan<- struct{}, open <-chan struct{}, then Step) Step {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			if started != nil {
				close(started)
			}
			select {
			case <-open:
				then(ctx, req)(yield)
			case <-ctx.Done():
				yield(llm.StreamEvent{}, aborted(ctx))
			}
		}
	}
}

// Func returns a step that is chosen when the call comes.
func Func(choose func(ctx context.Context, req *llm.Request) Step) Step {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return choose(ctx, req)(ctx, req)
	}
}

// aborted returns the error of a call whose context has ended.
func aborted(ctx context.Context) *llm.Error {
	return &llm.Error{Kind: llm.ErrAborted, Message: "the call was aborted: " + context.Cause(ctx).Error(),
		Err: context.Cause(ctx)}
}

// complete returns a response with everything filled in that a step left out.
func complete(resp llm.Response, req *llm.Request) *llm.Response {
	resp.Message.Role = llm.RoleAssistant
	resp.Message.Parts = slices.Clone(resp.Message.Parts)
	size, calls := 0, 0
	for i, part := range resp.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			size += len(part.Text)
		case llm.Thinking:
			size += len(part.Text)
		case llm.ToolCall:
			if part.ID == "" {
				part.ID = fmt.Sprintf("call_%d_%d", len(req.Messages), calls)
				resp.Message.Parts[i] = part
			}
			size += len(part.Args)
			calls++
		}
	}
	if resp.Finish.Reason == "" {
		resp.Finish.Reason = llm.FinishStop
		if calls > 0 {
			resp.Finish.Reason = llm.FinishToolCalls
		}
	}
	if resp.Usage == (llm.Usage{}) {
		resp.Usage = llm.Usage{Input: inputSize(req)/4 + 1, Output: size/4 + 1}
	}
	resp.ID = cmp.Or(resp.ID, fmt.Sprintf("msg_%d", len(req.Messages)))
	return &resp
}

// inputSize returns the size of a request's messages in bytes.
func inputSize(req *llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case llm.Text:
				n += len(part.Text)
			case llm.ToolCall:
				n += len(part.Args)
			case llm.ToolResult:
				n += len(part.Content.Text())
			}
		}
	}
	return n
}
