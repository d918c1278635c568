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

// await commits the host's records that come first and returns the next record if it is a wanted
// one, otherwise nil. It is called by the loop.
func (r *replay) await(ctx context.Context, wanted func(record) bool) record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.catchUp(ctx); ctx.Err() != nil || r.at >= len(r.records) || !wanted(r.records[r.at]) {
		return nil
	}
	return r.records[r.at]
}

// A script is a provider that gives the journal's answers.
type script struct {
	*replay
	name string
}

func (p script) Name() string { return p.name }

// providers returns a script for each provider that the session ever asked.
func (r *replay) providers(first string) []llm.Provider {
	names := []string{first}
	for _, rec := range r.records {
		switch rec := rec.(type) {
		case headerRecord:
			names = append(names, cmp.Or(rec.Policy.Compaction.Provider, first))
		case modelRecord:
			names = append(names, rec.Provider)
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
		resp, failed, err := p.answer(ctx)
		for i := range failed.Searches {
			if !yield(llm.StreamEvent{Type: llm.EventSearch, Search: &failed.Searches[i]}, nil) {
				return
			}
		}
		for block, text := range failed.Discarded {
			if !yield(llm.StreamEvent{Type: llm.EventTextDelta, Block: block, Delta: text}, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.StreamEvent{}, err)
			return
		}
		for block, part := range resp.Message.Parts {
			if t, ok := part.(llm.Text); ok && !yield(llm.StreamEvent{Type: llm.EventTextDelta, Block: block,
				Delta: t.Text}, nil) {
				return
			}
		}
		yield(llm.StreamEvent{Type: llm.EventFinish, Response: resp}, nil)
	}
}

// answer returns the journal's outcome of the next model call.
func (p script) answer(ctx context.Context) (resp *llm.Response, failed Fault, err error) {
	rec := p.await(ctx, func(rec record) bool {
		switch rec.(type) {
		case answerRecord, faultRecord, compactRecord, endRecord:
			return true
		}
		return false
	})
	switch rec := rec.(type) {
	case answerRecord:
		return &llm.Response{ID: rec.ResponseID, Provider: rec.Message.Provider, Model: rec.Message.Model,
			Message: rec.Message, Usage: rec.Usage,
			Finish: rec.Finish}, Fault{}, nil
	case faultRecord:
		f := rec.Fault
		failure := llm.Errorf(llm.KindNamed(f.Kind), "%s", f.Text)
		failure.Provider, failure.Code, failure.Status, failure.RequestID, failure.Usage = f.Provider, f.Code, f.Status,
			f.RequestID, f.Usage
		failure.Final = !f.Retryable
		failure.Tokens, failure.Window, failure.Rejected, failure.Undecoded = f.Tokens, f.Window, f.Rejected,
			f.Undecoded
		failure.Unsent = true // the record has its usage
		return nil, f, failure
	case compactRecord:
		if rec.Failed == "" || rec.Failed == emptySummary {
			return &llm.Response{Message: llm.Assistant(rec.Summary), Usage: rec.Usage}, Fault{}, nil
		}
		return nil, Fault{}, errors.New(rec.Failed)
	case endRecord:
		if rec.Summary != noSummary || rec.Usage != (llm.Usage{}) {
			return &llm.Response{Message: llm.Assistant(rec.Summary), Usage: rec.Usage}, Fault{}, nil
		}
		return nil, Fault{}, errors.New("no summary was made")
	}
	return nil, Fault{}, errors.New("the journal has no answer to this call")
}

// delay returns how long the failed attempt waited for the next one, and whether there was one.
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

// confirm returns what the hook BeforeStop returned then.
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

// authorize allows a call with the arguments that it ran with then.
func (r *replay) authorize(_ context.Context, req tool.Request) (tool.Decision, error) {
	d := tool.Decision{Verdict: tool.Allow}
	if result, ok := r.result(req.Call.ID).(resultRecord); ok {
		d.Args = result.Args
	}
	return d, nil
}

// result returns the record of a call's result or question.
func (r *replay) result(id string) record {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.outcomes[id] {
		if n >= r.at {
			return r.records[n]
		}
	}
	return nil
}

// access returns the Access of a call as it was then.
func (r *replay) access(id string) *tool.Access {
	switch rec := r.result(id).(type) {
	case resultRecord:
		return rec.Access
	case awaitRecord:
		return rec.Access
	}
	return nil
}

// tools returns stand-ins whose results are the journal's.
func (r *replay) tools(definitions []llm.ToolDefinition) []tool.Tool {
	nothing := func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil }
	var tools []tool.Tool
	for _, def := range definitions {
		tools = append(tools, tool.Tool{ToolDefinition: def, Limit: tool.Limit{Chars: -1}, RawInput: true,
			Run: r.runTool, Access: nothing})
	}
	return tools
}

func (r *replay) runTool(_ context.Context, call *tool.Call) (tool.Result, error) {
	switch rec := r.result(call.ID).(type) {
	case resultRecord:
		return tool.Result{Content: rec.Content, IsError: rec.IsError, Done: rec.Done, Final: rec.Final,
			OutputRef: rec.OutputRef}, nil
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

// inOrder waits until the journal's next record is one of the loop, and of this call if rec is the
// outcome of a call. It returns the record to commit, nil for none: the journal's where only that
// knows the outcome, such as of calls that were not run.
func (r *replay) inOrder(ctx context.Context, rec record) record {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := callOf(rec)
	r.catchUp(ctx)
	for ctx.Err() == nil && call != "" && r.isOthersNext(call) {
		r.waitForOutcome(ctx, call)
		r.catchUp(ctx)
	}
	if _, spent := rec.(spentRecord); spent { // the journal's own are committed as they are
		return nil
	}
	if r.at >= len(r.records) {
		return rec
	}
	then := r.records[r.at]
	switch then.(type) {
	case inputRecord, endRecord: // the session crashed here; this call's result comes later
		if call != "" {
			return nil
		}
	}
	switch rec := rec.(type) {
	case compactRecord: // the journal knows what was settled meanwhile
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

// isOthersNext reports whether the next record is the outcome of another running call of this step.
func (r *replay) isOthersNext(call string) bool {
	if r.at >= len(r.records) {
		return false
	}
	next := callOf(r.records[r.at])
	return next != "" && next != call && r.running[next] > 0
}

// callOf returns the id of the call whose outcome a record is, empty if it is none.
func callOf(rec record) string {
	switch rec := rec.(type) {
	case resultRecord:
		return rec.CallID
	case awaitRecord:
		return rec.CallID
	}
	return ""
}

// nowhere is the environment of a replay. It has no files and no commands.
type nowhere struct {
	env.Environment
	dir     string
	machine Machine
}

func (n nowhere) WorkDir() string     { return n.dir }
func (n nowhere) Containment() string { return n.machine.Containment }
func (n nowhere) HidesHost() bool     { return n.machine.HidesHost }
