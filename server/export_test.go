package server

import "time"

// SetTimes changes how long clients may take to send a request, and a watcher to read a message.
func (s *Server) SetTimes(answer, message time.Duration) {
	s.times.answer, s.times.message = answer, message
}

// PutAway puts sessions away that nobody has used since they were opened.
func (s *Server) PutAway(rest time.Duration) {
	s.times.rest = rest
	s.putAway(s.streams)
}

// SetRelease changes how long what runs has when the grace is over.
func (s *Server) SetRelease(d time.Duration) { s.times.release = d }
