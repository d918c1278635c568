package server

import (
	"fmt"
	"io"
	"sync/atomic"
)

// metrics counts requests and streams.
type metrics struct {
	requests, refused, cut atomic.Int64
	watchers               atomic.Int64
}

// write writes the counts in the text format of Prometheus. Errors are the writer's.
func (m *metrics) write(w io.Writer, all []*session) {
	states := map[State]int{}
	open := 0
	for _, x := range all {
		states[x.summary().State]++
		if _, l := x.now(); l != nil {
			open++
		}
	}
	for _, of := range []struct {
		name, kind, about string
		value             int64
	}{
		{"attractor_requests_total", "counter", "Requests.", m.requests.Load()},
		{"attractor_refused_total", "counter", "Requests that were refused or failed.", m.refused.Load()},
		{"attractor_streams", "gauge", "Streams of events that are open.", m.watchers.Load()},
		{"attractor_streams_cut_total", "counter", "Streams that were refused, or cut because their reader was " +
			"too slow.", m.cut.Load()},
		{"attractor_open_sessions", "gauge", "Sessions that the server has open.", int64(open)},
	} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", of.name, of.about, of.name, of.kind, of.name, of.value)
	}
	fmt.Fprint(w, "# HELP attractor_sessions Sessions by their state.\n# TYPE attractor_sessions gauge\n")
	for _, state := range []State{StateIdle, StateRunning, StateWaiting, StateHeld} {
		fmt.Fprintf(w, "attractor_sessions{state=%q} %d\n", state, states[state])
	}
}
