package agent

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/attractor-go/attractor/journal"
)

// ErrFull means that the session's journal has reached its limit. The error's text says what to do.
var ErrFull = errors.New("agent: the journal of the session is full")

// All sizes are in bytes.
const (
	defaultJournal = 1 << 30 // unless the host says otherwise
	lineRoom       = 96      // a journal line beside its body and kind
	eventRoom      = 256     // an event beside its texts
)

// reserved returns the part of a journal's limit that is reserved for records that end calls,
// inputs and the session.
func reserved(limit int64) int64 { return min(64<<10, limit/4) }

// fullError is an [ErrFull] with its own text.
type fullError struct{ text string }

func (e *fullError) Error() string { return "agent: " + e.text }
func (e *fullError) Unwrap() error { return ErrFull }

// isFull reports whether err says that a log of this session is full. An ErrFull that comes from
// the host's journal is a failure of it.
func isFull(err error) bool {
	var full *fullError
	return errors.As(err, &full)
}

func (s *Session) journalFull(wanted string) error {
	return &fullError{fmt.Sprintf(
		"the journal has %d bytes, the limit is %d, and there is no room for %s: resume the session with a "+
			"higher limit, or go on in a new one", s.state.size, s.limits.MaxJournal, wanted)}
}

// checkRoom returns an error if the journal has no room for the lines of these records. Records
// that end something always have room, since the journal has to say how the session ended. It is
// called with the write lock.
func (s *Session) checkRoom(size int64, records []record) error {
	limit := s.limits.MaxJournal
	if s.state.size+size <= limit-reserved(limit) || s.onlyEnds(records) {
		return nil
	}
	err := s.journalFull(fmt.Sprintf("%d bytes more", size))
	if s.working.Load() != nil {
		s.endForFullLog(err)
	}
	return err
}

// onlyEnds reports whether records end something open and begin nothing.
func (s *Session) onlyEnds(records []record) bool {
	stopped := s.state.Input != nil && s.state.Input.Ending != ""
	for _, rec := range records {
		switch rec.(type) {
		case stopRecord:
			stopped = true
		case endRecord, childRecord:
		case resultRecord, faultRecord:
			if !stopped {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// checkRoundRoom returns an error if the journal may lack the room for another round. The session
// then ends before it asks the model for an answer that it could not keep.
func (s *Session) checkRoundRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limits.MaxJournal
	if s.journal == nil || s.state.size <= limit-reserved(limit)-min(16<<20, limit/8) {
		return nil
	}
	return s.journalFull("another model call")
}

// sizeOf returns the estimated size of a journal line, in bytes.
func sizeOf(line journal.Record) int64 { return int64(lineRoom + len(line.Kind) + len(line.Data)) }

// sizeOfEvent returns the estimated size of an event in the log of events, in bytes. Text that it
// shares with the history counts, too.
func sizeOfEvent(ev Event) int64 { return eventRoom + sizeOfTexts(reflect.ValueOf(ev)) }

// sizeOfTexts returns the size of all texts and lists in a value, in bytes.
func sizeOfTexts(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = sizeOfTexts(v.Elem())
		}
	case reflect.Slice:
		n = int64(v.Len()) * int64(v.Type().Elem().Size())
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			n += sizeOfTexts(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += sizeOfTexts(v.Field(i))
			}
		}
	}
	return n
}
