package server

import "time"

// SetTimes changes how long clients may take to send a request, and a watcher to read a message.
func (s *Server) SetTimes(answer, message time.Duration) {
	s.times.answer, s.times.message = answer, message
}

// SetRest changes after which time PutAway puts a session away that nobody uses.
func (s *Server) SetRest(d time.Duration) { s.times.rest = d }

// PutAway puts sessions away that nobody uses.
func (s *Server) PutAway() {

	s.putAway(s.streams)
}

// SetMost changes how many sessions a token has at most.
func (s *Server) SetMost(n int) { s.most = n }

// DocumentOf returns the document as the server has it.
func (s *Server) DocumentOf() ([]byte, error) { return s.document() }

// SetRelease changes how long what runs has when the grace is over.
func (s *Server) SetRelease(d time.Duration) { s.times.release = d }
