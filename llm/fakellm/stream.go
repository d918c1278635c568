package fakellm

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// streamer sends a response's events, up to the fault.
type streamer struct {
	w     http.ResponseWriter
	ctx   context.Context
	delay time.Duration
	f     format
	fault Fault
	sent  int // content frames
}

func (s *streamer) run(frames []frame) {
	for _, f := range frames {
		if s.due(f) && !s.perform(f) {
			return
		}
		s.send(f)
		if !s.wait(s.delay) {
			return
		}
	}
}

// due reports whether the fault comes before this frame: After deltas were sent, or there are no
// more.
func (s *streamer) due(f frame) bool {
	if s.fault.Kind == "" {
		return false
	}
	if f.content {
		s.sent++
		return s.sent > s.fault.After
	}
	return f.closing
}

// perform performs the fault before a frame. It reports whether the response continues after it.
func (s *streamer) perform(before frame) bool {
	fault := s.fault
	s.fault = Fault{}
	switch fault.Kind {
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultError:
		s.send(s.f.inBand())
	case FaultGarbage:
		s.send(frame{event: before.event, data: before.data[:len(before.data)/2]}) // of an object, or of [DONE]
		return true
	case FaultHang:
		<-s.ctx.Done()
	case FaultPings:
		for s.wait(cmp.Or(fault.Every, 10*time.Millisecond)) {
			s.send(s.f.ping())
		}
	}
	return false
}

func (s *streamer) send(f frame) {
	text := "data: " + f.data + "\n\n"
	switch {
	case f.data == "": // a vendor without such an event sends a comment
		text = ": keep-alive\n\n"
	case f.event != "":
		text = "event: " + f.event + "\n" + text
	}
	write(s.w, []byte(text))
	_ = http.NewResponseController(s.w).Flush() // fails if the client has disconnected, which the next wait notices
}

// wait waits, and reports whether the client is still connected.
func (s *streamer) wait(d time.Duration) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
