package agent

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"sync"
)

// LoopPolicy says when repeated tool calls make the session warn the model, or end the input.
type LoopPolicy struct {
	Off bool `json:"off,omitempty"`
	// EndInput ends the input instead of warning the model. It is a limit with the reason loop, to
	// which OnLimit applies. Continue begins to count anew.
	EndInput bool `json:"stop,omitempty"`
	// Window is the number of newest calls that are compared: 10 unless set, at most 32.
	Window int `json:"window,omitempty"`
	// Results makes calls equal only if their results are, too, so that a poll that makes progress
	// is not a loop. Durations and ids in results are ignored.
	Results bool `json:"results,omitempty"`
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

// A callMark identifies a call by hashes of its tool with the arguments, and of its result.
type callMark struct{ Call, Result uint64 }

func (m callMark) same(other callMark, results bool) bool {
	return m.Call == other.Call && (!results || m.Result == other.Result)
}

// leastRepeats holds how often a sequence of each length has to come to be a loop.
var leastRepeats = [...]int{1: 5, 2: 3, 3: 2}

// addMark adds a call that has its result. The first call that differs ends a loop of which the
// model was warned.
func (s *State) addMark(call OpenCall) {
	m := callMark{Call: hash(call.Name, canonical(call.Args))}
	if s.Policy.Loops.Results { // otherwise the hash is not needed, and it would take most of a fold's time
		m.Result = hash(passing().ReplaceAllString(call.Result.Content.Text(), ""))
	}
	if w := s.loopWarned; w != nil && !m.same(s.recent[max(len(s.recent)-w.Period, 0)], s.Policy.Loops.Results) {
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
		if n := repeats(calls, period, p.Results); n >= leastRepeats[period] {
			return &Loop{Period: period, Repeats: n}
		}
	}
	return nil
}

// repeats returns how often the last period calls come at the end of calls, without a gap.
func repeats(calls []callMark, period int, results bool) int {
	n := 1
	for end := len(calls) - period; end >= period; end -= period {
		for i := end - period; i < end; i++ {
			if !calls[i].same(calls[i+period], results) {
				return n
			}
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
	return fmt.Sprintf("%s been made %d times in a row with the same arguments. Repeating it will not change the outcome. Stop and think "+
		"about why it does not lead further, then try something different, or say what is in the way.", what, l.Repeats)
}

// passing matches what may differ between equal results: times, durations and ids.
var passing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:?\d\d)?|\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds)\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
})

func hash(texts ...string) uint64 {
	h := fnv.New64a()
	var b []byte
	for _, t := range texts {
		b = append(strconv.AppendInt(b[:0], int64(len(t)), 10), ':')
		b = append(b, t...)
		h.Write(b)
	}
	return h.Sum64()
}

// An outputMark names an output in the store.
type outputMark struct{ id, tool string }
