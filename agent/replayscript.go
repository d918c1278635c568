package agent

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// await returns the next record, once what the host did before it is written, if it is the wanted one. The loop, which asks, is the
// only one that could write what stands before a later one.
func (r *replay) await(ctx context.Context, wanted func(record) bool) record {
	stop := context.AfterFunc(ctx, r.wake)
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled(ctx); ctx.Err() != nil || r.at >= len(r.records) || !wanted(r.records[r.at]) {
		return nil
	}
	return r.records[r.at]
}

// script is a provider that answers what the journal says.
type script struct {
	*replay
	name string
}

func (p script) Name() string { return p.name }

// providers are all that the session ever asked.
func (r *replay) providers(first string) []llm.Provider {
	names := []string{first}
	for _, rec := range r.records {
		switch rec := rec.(type) {
		case headerRecord:
			names = append(names, cmp.Or(rec.Policy.Compaction.Provider, first))
		case settingRecord:
			names = append(names, deref(rec.Provider, first))
			if rec.Policy != nil {
				names = append(names, cmp.Or(rec.Policy.Compaction.Provider, first))
			}
		}
	}
	slices.Sort(names)
	var all []llm.Provider
	for _, name := range slices.Compact(names) {
		all = append(all, script{r, name})
	}
	return all
}

func (p script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		resp, discarded, err := p.answer(ctx)
		for block, text := range discarded {
			if !yield(llm.StreamEvent{Type: llm.EventTextDelta, Block: block, Delta: text}, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.StreamEvent{}, err)
			return
		}
		for block, part := range resp.Message.Parts {
			if t, ok := part.(llm.Text); ok && !yield(llm.StreamEvent{Type: llm.EventTextDelta, Block: block, Delta: t.Text}, nil) {
				return
			}
		}
		yield(llm.StreamEvent{Type: llm.EventFinish, Response: resp}, nil)
	}
}

// answer returns what the journal has of the model call that is due.
func (p script) answer(ctx context.Context) (resp *llm.Response, discarded []string, err error) {
	rec := p.await(ctx, func(rec record) bool {
		switch rec.(type) {
		case answerRecord, faultRecord, compactRecord, endRecord:
			return true
		}
		return false
	})
	switch rec := rec.(type) {
	case answerRecord:
		return &llm.Response{ID: rec.ResponseID, Provider: rec.Message.Provider, Model: rec.Message.Model, Message: rec.Message, Usage: rec.Usage,
			Finish: rec.Finish}, nil, nil
	case faultRecord:
		f := rec.Fault
		failure := llm.Errorf(llm.Kind(f.Kind), "%s", f.Text)
		failure.Provider, failure.Code, failure.Status, failure.RequestID, failure.Usage = f.Provider, f.Code, f.Status, f.RequestID, f.Usage
		failure.Final = !f.Retryable
		failure.Tokens, failure.Window = f.Tokens, f.Window
		failure.Unsent = true // what it took is in the record
		return nil, f.Discarded, failure
	case compactRecord:
		if rec.Failed == "" || rec.Failed == emptySummary {
			return &llm.Response{Message: llm.Assistant(rec.Summary), Usage: rec.Usage}, nil, nil
		}
		return nil, nil, errors.New(rec.Failed)
	case endRecord:
		if rec.Summary != noSummary || rec.Usage != (llm.Usage{}) {
			return &llm.Response{Message: llm.Assistant(rec.Summary), Usage: rec.Usage}, nil, nil
		}
		return nil, nil, errors.New("no summary was made")
	}
	return nil, nil, errors.New("the journal has no answer to this call")
}

// delay says whether a failed call was tried again.
func (r *replay) delay(int, error) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at < len(r.records) {
		if f, ok := r.records[r.at].(faultRecord); ok {
			return f.Delay, !f.RetryAt.IsZero()
		}
	}
	return 0, false
}

// confirm is the hook BeforeStop as it answered then.
func (r *replay) confirm(ctx context.Context, _ Stop) (string, error) {
	rec := r.await(ctx, func(rec record) bool {
		switch rec.(type) {
		case turnRecord, endRecord:
			return true
		}
		return false
	})
	if turn, ok := rec.(turnRecord); ok && turn.Origin == OriginStop {
		return turn.Text, nil
	}
	return "", nil
}

// authorize gives a call the arguments that it ran with then.
func (r *replay) authorize(_ context.Context, req tool.Request) (tool.Decision, error) {
	d := tool.Decision{Verdict: tool.Allow}
	if result, ok := r.result(req.Call.ID).(resultRecord); ok {
		d.Args = result.Args
	}
	return d, nil
}

// result returns what became of a call then.
func (r *replay) result(id string) record {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.records[r.at:] {
		switch rec := rec.(type) {
		case resultRecord:
			if rec.CallID == id {
				return rec
			}
		case awaitRecord:
			if rec.CallID == id {
				return rec
			}
		}
	}
	return nil
}

// access returns what a call would have touched then.
func (r *replay) access(id string) *tool.Access {
	switch rec := r.result(id).(type) {
	case resultRecord:
		return rec.Access
	case awaitRecord:
		return rec.Access
	}
	return nil
}

// tools are stand-ins that come to the journal's results.
func (r *replay) tools(definitions []llm.ToolDefinition) []tool.Tool {
	nothing := func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil }
	var tools []tool.Tool
	for _, def := range definitions {
		tools = append(tools, tool.Tool{ToolDefinition: def, Limit: tool.Limit{Chars: -1}, RawInput: true, Run: r.runTool, Access: nothing})
	}
	return tools
}

func (r *replay) runTool(_ context.Context, call *tool.Call) (tool.Result, error) {
	switch rec := r.result(call.ID).(type) {
	case resultRecord:
		return tool.Result{Content: rec.Content, IsError: rec.IsError, Done: rec.Done, Final: rec.Final, OutputRef: rec.OutputRef}, nil
	case awaitRecord:
		r.mu.Lock()
		r.asked[call.ID] = true
		r.mu.Unlock()
		if s, ok := call.Session.(*toolSession); ok {
			s.call.awaits.Store(&rec)
		}
		return tool.Result{}, tool.ErrLater
	}
	return tool.Result{}, errors.New("the journal has no result of this call")
}

// inTurn waits until the journal's next record is what a step of the loop came to: of a call its own, and of anything else what is not
// the host's. The journal knows what became of calls that were not run.
func (r *replay) inTurn(ctx context.Context, rec record) record {
	stop := context.AfterFunc(ctx, r.wake)
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	call := callOf(rec)
	r.settled(ctx)
	for ctx.Err() == nil && call != "" && r.comes(call) {
		r.changed.Wait()
		r.settled(ctx)
	}
	if _, spent := rec.(spentRecord); spent { // the journal's own are taken as they are
		return nil
	}
	if r.at >= len(r.records) {
		return rec
	}
	then := r.records[r.at]
	switch then.(type) {
	case inputRecord, endRecord: // the session crashed here, and this call's result came later
		if call != "" {
			return nil
		}
	}
	switch rec := rec.(type) {
	case compactRecord: // the journal knows what else was settled while it was made
		if then, ok := then.(compactRecord); ok && then.Failed == rec.Failed && then.Summary == rec.Summary {
			return then
		}
	case resultRecord:
		if _, ok := then.(resultRecord); ok {
			return then
		}
	}
	return rec
}

// comes reports that the next record is what becomes of another call of this step, which is on its way.
func (r *replay) comes(call string) bool {
	if r.at >= len(r.records) {
		return false
	}
	next := callOf(r.records[r.at])
	return next != "" && next != call && r.running[next] > 0
}

// callOf returns the call whose outcome a record is.
func callOf(rec record) string {
	switch rec := rec.(type) {
	case resultRecord:
		return rec.CallID
	case awaitRecord:
		return rec.CallID
	}
	return ""
}

// nowhere is the environment of a replay, in which nothing can be done.
type nowhere struct {
	env.Environment
	dir     string
	machine Machine
}

func (n nowhere) WorkDir() string     { return n.dir }
func (n nowhere) Containment() string { return n.machine.Containment }
func (n nowhere) HidesHost() bool     { return n.machine.HidesHost }
