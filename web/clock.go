package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/attractor-go/attractor/agent"
)

// clock sums up where the time of a session went. The time between two records counts as one kind
// of time, so that the parts add up to the total. All times are in milliseconds. The time of a
// record that is before that of its predecessor counts as the latter.
type clock struct {
	begun bool
	at    int64 // all time up to here is counted
	free  int64 // the time since then was counted as waiting, and may turn out to belong to a model call
	times Times
	asked int64      // when the last answer came
	since int64      // when the process that works on the session began to do so
	round []interval // in which at least one call of the round ran; sorted, without overlaps
	step  stretch    // the newest step
	call  modelCall  // the current model call
}

// interval is a stretch of time.
type interval struct{ from, to int64 }

// stretch holds the times of a step, without that of its model call, which is before the step.
type stretch struct{ tools, waiting int64 }

// modelCall holds the times of a model call before its answer.
type modelCall struct {
	began    int64 // of its first attempt; 0 if there was none
	model    int64 // of all attempts
	waiting  int64 // between them
	attempts int
}

// add counts the time up to a record.
func (c *clock) add(p *agent.Projection, r *record, t time.Time) {
	now := t.UnixMilli()
	if !c.begun {
		c.begun, c.at, c.free = true, now, now
	}
	now = max(now, c.at)
	c.times.Total += now - c.at
	state := p.State()
	for _, ev := range r.events {
		switch e := ev.(type) {
		case *agent.SessionStart:
			if e.Resumed { // no process worked on the session until now
				c.times.Idle += now - c.at
				c.at, c.since, c.free = now, now, now
			}
		case *agent.StepEnd:
			if state.Steps >= e.Step {
				c.answer(now, e.LatencyMS, r)
			}
		case *agent.ToolCallEnd:
			c.result(now, e.DurationMS)
		}
	}
	if n := len(state.Faults); n > r.faults {
		c.attempt(now, state.Faults[n-1].Latency.Milliseconds(), r)
	}
	if r.aside && r.open {
		c.model(now, c.free, r)
	}
	c.pass(now, r)
	for _, ev := range r.events {
		switch ev.(type) {
		case *agent.UserInput:
			c.free = now
		case *agent.ProcessingEnd:
			c.call, c.round = modelCall{}, nil
		}
	}
}

// pass counts the time up to now: as waiting if an input was open, or the last one has ended with a
// question to a person, and otherwise as idle.
func (c *clock) pass(now int64, r *record) {
	rest := now - c.at
	c.at = now
	if !r.open && !r.asks {
		c.times.Idle += rest
		c.free = now
		return
	}
	c.wait(rest)
}

// wait adds time to the waiting, or subtracts it if it is below 0.
func (c *clock) wait(time int64) {
	c.times.Waiting += time
	if c.call.attempts > 0 {
		c.call.waiting += time
	} else {
		c.step.waiting += time
	}
}

// model counts the time from began to now as that of a model, but not time that was counted as
// something else than waiting. It returns when the counted time began. Records may come during a
// model call, such as those of the host's texts or of subagents.
func (c *clock) model(now, began int64, r *record) int64 {
	began = min(max(began, c.free), now)
	c.pass(max(began, c.at), r)
	c.wait(began - c.at)
	c.call.model += now - began
	c.times.Model += now - began
	c.at, c.free = now, now
	return began
}

// attempt counts an attempt of a model call that took some time and ended now.
func (c *clock) attempt(now, took int64, r *record) {
	began := c.model(now, now-took, r)
	c.call.began = cmp.Or(c.call.began, began)
	c.call.attempts++
}

// answer counts the attempt that has an answer, and begins its step.
func (c *clock) answer(now, took int64, r *record) {
	c.attempt(now, took, r)
	c.asked, c.round, c.step = now, nil, stretch{waiting: c.call.waiting}
}

// result counts a call that took some time and ended now. Time of its round that was counted as
// waiting before may become that of the call.
func (c *clock) result(now, took int64) {
	before := length(c.round)
	c.round = join(c.round, interval{min(max(now-took, c.asked, c.since), now), now})
	ran := length(c.round) - before
	waited := now - c.at - ran // below 0 for what was counted before
	c.step.tools += ran
	c.step.waiting += waited
	c.times.Tools += ran
	c.times.Waiting += waited
	c.at, c.free = now, now
}

// join adds an interval to sorted ones, and merges those that overlap.
func join(all []interval, one interval) []interval {
	from, _ := slices.BinarySearchFunc(all, one.from, func(i interval, from int64) int {
		return cmp.Compare(i.to, from)
	})
	to := from
	for to < len(all) && all[to].from <= one.to {
		one = interval{min(one.from, all[to].from), max(one.to, all[to].to)}
		to++
	}
	return slices.Replace(all, from, to, one)
}

// length returns the time that intervals cover.
func length(all []interval) (sum int64) {
	for _, i := range all {
		sum += i.to - i.from
	}
	return sum
}
