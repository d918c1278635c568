package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// providers holds what a worker knows about providers.
type providers struct {
	mu sync.Mutex
	by map[string]*provider // by name
}

// provider says whether a provider answers.
type provider struct {
	down     bool          // it did not answer when it was last asked, here or elsewhere
	failures int           // in a row
	answered time.Time     // the last time
	probe    chan struct{} // holds an element while a call tries a provider that is down
}

// note changes what is known about a provider, and returns it.
func (p *providers) note(name string, change func(*provider)) provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*provider{}
	}
	if p.by[name] == nil {
		p.by[name] = &provider{probe: make(chan struct{}, 1)}
	}
	change(p.by[name])
	return *p.by[name]
}

// get returns what is known about a provider.
func (p *providers) get(name string) provider { return p.note(name, func(*provider) {}) }

// enter waits until a provider may be called: after an outage one call tries it first. The caller
// calls leave when its call is over.
func (p *providers) enter(ctx context.Context, name string) (leave func(), err error) {
	known := p.get(name)
	if !known.down {
		return func() {}, nil
	}
	select {
	case known.probe <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leave = func() { <-known.probe }
	if !p.get(name).down {
		leave()
		leave = func() {}
	}
	return leave, nil
}

// An outageError ends a job until a provider answers again.
type outageError struct {
	provider, reason string
	until            time.Time
}

// Error says what the task waits for.
func (e *outageError) Error() string {
	return fmt.Sprintf("the provider %s does not answer (%s)", e.provider, e.reason)
}

// limit is the middleware around model calls: it waits for a slot and for the rate, and does not
// call a provider that is paused.
func (j *Job) limit(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			leave, slot, err := j.admit(ctx, req)
			if err != nil {
				yield(llm.StreamEvent{}, err)
				return
			}
			defer leave()
			used := 0
			defer func() { j.release(slot, used) }()
			for event, err := range next(ctx, req) {
				switch {
				case err != nil:
					j.modelFailed()
				case event.Type == llm.EventFinish && event.Response != nil:
					used = event.Response.Usage.Total()
					j.modelAnswered(req.Provider)
				}
				if !yield(event, err) {
					return
				}
			}
		}
	}
}

// admit waits until a model call may be made. Its error has ended the job, or the caller's context
// has.
func (j *Job) admit(ctx context.Context, req *llm.Request) (leave func(), slot Slot, err error) {
	aborted := func(err error) error {
		return &llm.Error{Kind: llm.ErrAborted, Provider: req.Provider, Message: err.Error(), Unsent: true, Err: err}
	}
	if err := j.gate.check(); err != nil {
		return nil, nil, aborted(err)
	}
	// no call of the session runs meanwhile: if the task is given away, nobody has to wait for this
	if req.Caller.Agent == "" {
		sent := context.AfterFunc(j.stop, func() {
			if errors.Is(context.Cause(j.stop), errDrained) {
				j.endHold(errDrained)
			}
		})
		defer sent()
	}
	if err := j.unpaused(ctx, req.Provider); err != nil {
		return nil, nil, aborted(err)
	}
	if leave, err = j.worker.providers.enter(ctx, req.Provider); err != nil {
		return nil, nil, aborted(err)
	}
	for slot == nil {
		slot, err = j.worker.Engine.Slots().Acquire(ctx, req.Provider, req.Model, estimate(req))
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !j.gate.open() || !pause(ctx, j.worker.TTL/20) {
			leave()
			return nil, nil, aborted(err)
		}
		j.log.Debug("no slot", "error", err)
	}
	if err := j.gate.check(); err != nil { // the wait may have been long
		j.release(slot, 0)
		leave()
		return nil, nil, aborted(err)
	}
	return leave, slot, nil
}

// unpaused returns nil if nobody has paused the provider. Otherwise it ends the job until the pause
// is over, and waits for that end.
func (j *Job) unpaused(ctx context.Context, name string) error {
	until, reason, err := j.worker.Engine.Slots().Paused(ctx, name)
	switch {
	case err != nil: // the provider is asked all the same
		j.log.Debug("pauses unknown", "error", err)
		return nil
	case !time.Now().Before(until):
		return nil
	}
	j.worker.providers.note(name, func(p *provider) { p.down = true })
	j.endHold(&outageError{name, reason, spread(until)})
	<-ctx.Done()
	return context.Cause(ctx)
}

// spread returns a time somewhat after t, so that not all tasks go on at once.
func spread(t time.Time) time.Time {
	return t.Add(time.Duration(rand.Int64N(int64(max(time.Until(t), 10)) / 10)))
}

// release gives a slot back.
func (j *Job) release(slot Slot, used int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.hold), j.worker.TTL)
	defer cancel()
	if err := slot.Release(ctx, used); err != nil {
		j.log.Debug("slot not released; it ends by itself", "error", err)
	}
}

// charsAToken is about how many characters a token has.
const charsAToken = 4

// estimate returns about how many tokens a request and its answer take.
func estimate(req *llm.Request) int {
	chars := 0
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.Text:
				chars += len(p.Text)
			case llm.ToolCall:
				chars += len(p.Args)
			case llm.ToolResult:
				chars += len(p.Content.Text())
			}
		}
	}
	for _, t := range req.Tools {
		chars += len(t.Description) + len(t.Parameters)
	}
	return chars/charsAToken + req.MaxTokens
}

// modelFailed notes the first failure since the model answered.
func (j *Job) modelFailed() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failing.IsZero() {
		j.failing = time.Now()
	}
}

// modelAnswered notes that the task goes on.
func (j *Job) modelAnswered(name string) {
	j.worker.providers.note(name, func(p *provider) { p.down, p.failures, p.answered = false, 0, time.Now() })
	j.mu.Lock()
	j.failing = time.Time{}
	j.mu.Unlock()
	j.update(func(s *Status) bool {
		had := s.Failures > 0
		s.Failures = 0
		return had
	})
}

// outageOr returns the outcome of a task whose model does not answer, after all attempts of the
// session: it waits for the end of the outage. If the provider answers others meanwhile there is
// none, and only this task is tried again.
func (j *Job) outageOr(fault *llm.Error) outcome {
	j.mu.Lock()
	failing := j.failing
	j.mu.Unlock()
	if j.worker.providers.get(fault.Provider).answered.After(failing) {
		return j.again(fault)
	}
	known := j.worker.providers.note(fault.Provider, func(p *provider) {
		p.down = true
		p.failures++
	})
	delay := max(backoff(j.worker.TTL, known.failures), fault.RetryAfter)
	until := time.Now().Add(delay)
	out := &outageError{fault.Provider, fault.Error(), spread(until)}
	j.persist("outage not told", func(ctx context.Context) error {
		return j.worker.Engine.Slots().Pause(ctx, fault.Provider, until, fault.Error())
	})
	return outcome{state: Paused, reason: out.Error(), due: out.until}
}
