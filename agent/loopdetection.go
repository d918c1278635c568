package agent

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
)

// LoopPolicy says when repeated tool calls make the session warn the model, or end the input.
type LoopPolicy struct {
	Off bool `json:"off,omitempty"`
	// EndInput ends the input instead of warning the model. It is a limit with the reason loop, to
	// which OnLimit applies. Continue begins to count anew.
	EndInput bool `json:"stop,omitempty"`
	// Window is the number of newest calls that are compared: 10 unless set, at most 32.
	Window int `json:"window,omitempty"`
}

// The default and the largest window of [LoopPolicy].
const (
	defaultWindow = 10
	maxWindow     = 32
)

// Loop describes a repetition: the last Period calls came Repeats times.
type Loop struct {
	Period  int `json:"period"`
	Repeats int `json:"repeats"`
}

// A callMark identifies a call by a hash of its tool and the arguments.
type callMark uint64

// leastRepeats holds how often a sequence of each length has to come to be a loop.
var leastRepeats = [...]int{1: 5, 2: 3, 3: 2}

// addMark adds a call that has its result. The first call that differs ends a loop of which the
// model was warned.
func (s *State) addMark(call OpenCall) {
	m := markOf(call.Name, conversation.Canonical(call.Args))
	if w := s.loopWarned; w != nil && m != s.recent[max(len(s.recent)-w.Period, 0)] {
		s.loopWarned, s.recent = nil, nil
	}
	s.recent = append(s.recent, m)
	if n := len(s.recent); n > maxWindow {
		s.recent = append(s.recent[:0], s.recent[n-maxWindow:]...)
	}
}

// looping returns the loop at the end of the calls, nil if there is none or the model was warned of
// it.
func (s *State) looping(p LoopPolicy) *Loop {
	if p.Off || s.loopWarned != nil {
		return nil
	}
	window := defaultWindow
	if p.Window > 0 {
		window = min(p.Window, maxWindow)
	}
	calls := s.recent[max(len(s.recent)-window, 0):]
	for period := 1; period < len(leastRepeats); period++ {
		if n := repeats(calls, period); n >= leastRepeats[period] {
			return &Loop{Period: period, Repeats: n}
		}
	}
	return nil
}

// repeats returns how often the last period calls come at the end of calls, without a gap.
func repeats(calls []callMark, period int) int {
	n := 1
	for end := len(calls) - period; end >= period; end -= period {
		if !slices.Equal(calls[end-period:end], calls[end:end+period]) {
			return n
		}
		n++
	}
	return n
}

func (l *Loop) warning() string {
	what := "The last tool call has"
	if l.Period > 1 {
		what = fmt.Sprintf("The last %d tool calls, in this order, have", l.Period)
	}
	return fmt.Sprintf("%s been made %d times in a row with the same arguments. Repeating it will not change the "+
		"outcome. Stop and think about why it does not lead further, then try something different, or say what is in "+
		"the way.", what, l.Repeats)
}

func markOf(name, args string) callMark {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %s", name, args)
	return callMark(h.Sum64())
}

// An outputMark names an output in the store.
type outputMark struct{ id, tool string }
