package fleet

import (
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/sanitize"
)

// recordDeath writes into the status which calls the last owner left open, if it has died. It
// returns an outcome if too many owners have died, or nil.
func (j *Job) recordDeath() *outcome {
	left := leftOf(j.state)
	j.update(func(s *Status) bool {
		last := len(s.Deaths) - 1
		if last < 0 || len(left) == 0 || s.Deaths[last].Left != nil {
			return false
		}
		s.Deaths = slices.Clone(s.Deaths)
		s.Deaths[last].Left = left
		return true
	})
	return j.poisoned(j.worker.MaxDeaths)
}

// markSurvivors marks the deaths of owners that live again: they were only cut off, such as from a
// server that was down, and the task is not the reason. The last owner is left out, because its
// lease may outlive it for a while.
func (j *Job) markSurvivors() {
	last := len(j.current().Deaths) - 1
	if last < 1 || !slices.ContainsFunc(j.current().Deaths[:last], func(d Death) bool { return !d.Survived }) {
		return
	}
	alive, err := j.worker.Engine.Leases().List(j.hold)
	if err != nil {
		j.log.Debug("workers unknown", "error", err)
		return
	}
	j.update(func(s *Status) bool {
		s.Deaths = slices.Clone(s.Deaths)
		changed := false
		for i, d := range s.Deaths[:last] {
			back := slices.ContainsFunc(alive, func(w WorkerInfo) bool {
				return w.Name == d.Worker && w.Since.Before(d.From)
			})
			if back && !d.Survived {
				s.Deaths[i].Survived, changed = true, true
			}
		}
		return changed
	})
}

// poisoned returns an outcome if at least most owners of the task have died, or nil.
func (j *Job) poisoned(most int) *outcome {
	died := 0
	for _, d := range j.current().Deaths {
		if !d.Survived {
			died++
		}
	}
	if died < most {
		return nil
	}
	return &outcome{state: Poisoned, reason: poisonedBy(died)}
}

// poisonedBy returns why a task is poisoned.
func poisonedBy(deaths int) string {
	return fmt.Sprintf("%d workers that had the task were not heard of again: it may be what ended them", deaths)
}

// mostLeft bounds the calls that a Death names, and mostArgs their arguments in bytes.
const (
	mostLeft = 20
	mostArgs = 200
)

// leftOf returns the open calls of a session whose outcome is unknown.
func leftOf(s *agent.State) []string {
	if s == nil {
		return nil
	}
	var left []string
	for _, c := range s.Open() {
		if !c.Intended || c.Result != nil || len(left) == mostLeft {
			continue
		}
		args := sanitize.Line(c.Args)
		if len(args) > mostArgs {
			args = sanitize.Line(args[:mostArgs]) + "..."
		}
		left = append(left, c.Name+" "+args)
	}
	return left
}
