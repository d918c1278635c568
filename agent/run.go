package agent

import (
	"context"
	"iter"
)

// Run gives the session a task, as Submit does when the loop over Run begins, and yields the events
// of the work on it, up to the end of its last follow-up. If Submit would return an error, a last
// pair has that and no event. [Session.Result] has the outcome afterwards. If a [Key] names an
// input that is done already, there are no events, and Result has its text.
//
//	for event, err := range session.Run(ctx, "fix the failing test") {
//		if err != nil {
//			return err
//		}
//		if e, ok := event.(*agent.AssistantTextEnd); ok {
//			fmt.Println(e.Text)
//		}
//	}
//
// Leaving the loop early interrupts the input, and waits for its end; so does the end of ctx, whose
// cause is then the error. The events are those of
// [Session.Events]: a slow loop does not hold up the session, and gets deltas joined. OnEvent gets its events beside that. While other work goes
// on in the session, Run yields only an [ErrBusy].
func (s *Session) Run(ctx context.Context, prompt string, more ...SendOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		run, interrupt := context.WithCancel(ctx)
		working, done := context.WithCancel(context.WithoutCancel(ctx))
		begun := make(chan int64, 1)
		var err error
		go func() {
			defer done()
			defer close(begun)
			_, err = s.submitText(run, prompt, more, func() { begun <- s.events.newest() })
		}()
		defer func() { <-working.Done() }() // also if the loop panics
		defer interrupt()
		if from, ok := <-begun; ok && !s.events.yieldWhile(working, from,
			func(ev Event) bool { return yield(ev, nil) }) {
			return
		}
		if <-working.Done(); err != nil {
			yield(nil, err)
		}
	}
}

// yieldWhile yields the events after number from that come until ctx ends. It returns false if
// yield did.
func (s *eventStream) yieldWhile(ctx context.Context, from int64, yield func(Event) bool) bool {
	c := cursor{stream: s, at: from}
	for ev := c.next(ctx); ev != nil; ev = c.next(ctx) {
		if !c.pass(ctx, ev, yield) {
			return false
		}
	}
	<-ctx.Done() // or SESSION_END came before it
	last := s.newest()
	for ev := c.nextUpTo(last); ev != nil; ev = c.nextUpTo(last) {
		if !c.pass(context.WithoutCancel(ctx), ev, yield) {
			return false
		}
	}
	return true
}
