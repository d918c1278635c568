package agent

import "time"

// Act is what the loop does in one step.
type Act uint8

// The acts.
const (
	Rest   Act = iota // nothing to do: wait for the host
	Begin             // make the next follow-up the input
	Run               // run Calls and record their results
	Inject            // put queued steering into the history
	Wait              // until Until, for the next attempt
	Call              // the model
	Finish            // end the input for Reason
)

// Step is what to do next.
type Step struct {
	Act    Act
	Calls  []OpenCall // of Run
	Reason Reason     // of Finish; of Run: why the calls get error results instead of being run
	Value  int        // of Finish: the limit that was reached
	Until  time.Time  // of Wait
}

// Policy is what the host decided beforehand.
type Policy struct {
	MaxToolRounds int // in one input; 0 means no limit
	MaxTurns      int // assistant turns in the session; 0 means no limit
}

// Next decides. It is a pure function, and the order of its cases is the specification of the loop.
func Next(s *State, p *Policy, now time.Time) Step {
	in := s.Input
	if open := s.Open(); len(open) > 0 {
		return Step{Act: Run, Calls: open, Reason: in.Stop} // nothing comes between calls and their results
	}
	switch {
	case in == nil && s.Queued(FollowUps) != nil && s.goesOn():
		return Step{Act: Begin}
	case in == nil:
		return Step{Act: Rest}
	case in.Stop != "":
		return Step{Act: Finish, Reason: in.Stop}
	case in.Done:
		return Step{Act: Finish, Reason: Done}
	}
	steered := s.Queued(Steering) != nil
	if s.Answered() && !steered {
		return Step{Act: Finish, Reason: Completed}
	}
	if f := s.fault(); f != nil {
		switch {
		case f.RetryAt.IsZero():
			return Step{Act: Finish, Reason: Failed}
		case now.Before(f.RetryAt):
			return Step{Act: Wait, Until: f.RetryAt}
		}
		return Step{Act: Call} // the same call again: nothing gets in between
	}
	switch {
	case p.MaxToolRounds > 0 && in.Rounds >= p.MaxToolRounds:
		return Step{Act: Finish, Reason: MaxToolRounds, Value: p.MaxToolRounds}
	case p.MaxTurns > 0 && s.Steps >= p.MaxTurns:
		return Step{Act: Finish, Reason: MaxTurns, Value: p.MaxTurns}
	case steered:
		return Step{Act: Inject}
	}
	return Step{Act: Call}
}

// goesOn reports whether the last input ended in a way after which follow-ups run.
func (s *State) goesOn() bool {
	return s.Last != nil && s.Last.Reason.goesOn()
}

func (r Reason) goesOn() bool { return r == Completed || r == Done || r.Limit() }

// records is what a step that needs no work comes to.
func (s *State) records(step Step) []record {
	switch step.Act {
	case Begin:
		q := s.Queued(FollowUps)
		return []record{inputRecord{Text: q.Text, Queued: q.ID}}
	case Inject:
		var turns []record
		for _, q := range s.Queue {
			if q.Lane == Steering {
				turns = append(turns, turnRecord{Origin: OriginSteer, Text: q.Text, Queued: q.ID, Source: q.Source})
			}
		}
		return turns
	case Finish:
		return []record{endRecord{Reason: step.Reason, Value: step.Value}}
	}
	return nil
}
