package agent

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// ErrFull means that the session's journal, or the log of events that its cursors read, has reached its limit. The error's text says
// what to do.
var ErrFull = errors.New("agent: a log of the session is full")

// The sizes are in bytes.
const (
	defaultLog = 1 << 30 // how large a log may become
	lineRoom   = 96      // what a line takes beside its body and its kind
	eventRoom  = 256     // what an event takes beside its texts
	planRoom   = 64      // what an entry of a todo list takes beside them
)

// endRoom returns the part of a journal's limit that is kept for the records that end things.
func endRoom(limit int64) int64 { return min(64<<10, limit/4) }

// limits bounds the size of a session's logs, in bytes.
type limits struct{ journal, events int64 }

func limitsOf(o Options) limits {
	return limits{cmp.Or(o.MaxJournal, defaultLog), cmp.Or(o.MaxEvents, defaultLog)}
}

// fullError is an ErrFull.
type fullError struct{ text string }

func (e *fullError) Error() string { return "agent: " + e.text }
func (e *fullError) Unwrap() error { return ErrFull }

// isFull reports whether a log of the session is full. A journal of the host's that returns an ErrFull is one that fails.
func isFull(err error) bool {
	var full *fullError
	return errors.As(err, &full)
}

func (s *Session) journalFull(wanted string) error {
	return &fullError{fmt.Sprintf("the journal has %d bytes, the limit is %d (Options.MaxJournal), and there is no room for %s: resume the session with a "+
		"higher limit, or go on in a new one", s.written, s.limits.journal, wanted)}
}

func eventsFull(size, limit int64) error {
	return &fullError{fmt.Sprintf("the events that are kept for cursors take %d bytes of memory, and the limit is %d (Options.MaxEvents): resume the "+
		"session, which begins them anew, or raise the limit", size, limit)}
}

// fill ends what is running, and then the session, because a log is full. It takes no lock.
func (s *Session) fill(err error) {
	if s.full.CompareAndSwap(nil, &err) {
		s.endLife(err)
	}
}

// filled returns why the session ends, if that is because a log is full.
func (s *Session) filled() error {
	if err := s.full.Load(); err != nil {
		return *err
	}
	return nil
}

// room returns an error when the journal has no room for the lines of these records. What ends things always has: without it the
// journal would not say how the session ended. It is called with the lock held.
func (s *Session) room(size int64, records []record) error {
	limit := s.limits.journal
	if s.written+size <= limit-endRoom(limit) || s.onlyEnds(records) {
		return nil
	}
	err := s.journalFull(fmt.Sprintf("%d bytes more", size))
	if s.working.Load() != nil {
		s.fill(err)
	}
	return err
}

// onlyEnds reports that records end what is open, and begin nothing.
func (s *Session) onlyEnds(records []record) bool {
	stopped := s.state.Input != nil && s.state.Input.Stop != ""
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

// crowded reports that the journal may not have room for another round. The session had better end before the model is asked for
// something that cannot be kept.
func (s *Session) crowded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limits.journal
	if s.journal == nil || s.written <= limit-endRoom(limit)-min(16<<20, limit/8) {
		return nil
	}
	return s.journalFull("another model call")
}

// sizeOf returns about how many bytes a journal has for a record.
func sizeOf(line journal.Record) int64 { return int64(lineRoom + len(line.Kind) + len(line.Data)) }

// sizeOfEvent returns about how many bytes the log of events has for an event. Text that it shares with the history counts, too.
func sizeOfEvent(ev Event) int64 {
	if _, text, ok := deltaOf(ev); ok {
		return eventRoom + int64(len(text))
	}
	n := eventRoom
	switch e, _ := innermost(ev); e := e.(type) {
	case *UserInput:
		n += len(e.Text)
	case *SteeringInjected:
		n += len(e.Text)
	case *AssistantTextEnd:
		n += len(e.Text)
	case *ToolCallStart:
		n += len(e.Arguments) + len(e.Effective) + sizeOfAccess(e.Access)
	case *ToolCallEnd:
		n += len(e.Output) + sizeOfStructure(e)
	case *ProcessingEnd:
		n += len(e.Text)
	case *InputRequested:
		n += len(e.Question) + len(e.Form)
	case *NoteWritten:
		n += len(e.Data) + len(e.Text)
	case *PlanUpdated:
		for _, item := range e.Items {
			n += planRoom + len(item.Text) + len(item.Active)
		}
	case *Warning:
		n += len(e.Text)
	case *Error:
		n += len(e.Text)
	}
	return int64(n)
}

// sizeOfAccess returns about how many bytes the texts of an access have.
func sizeOfAccess(a *tool.Access) int {
	if a == nil {
		return 0
	}
	n := len(a.Command)
	for _, texts := range [][]string{a.Paths, a.Hosts} {
		for _, text := range texts {
			n += len(text)
		}
	}
	for _, g := range a.Guarded {
		n += len(g.Path) + len(g.Why)
	}
	return n
}

// sizeOfStructure returns about how many bytes the structure of a result takes.
func sizeOfStructure(e *ToolCallEnd) int {
	n := len(e.Structured)
	for _, c := range e.Changes {
		n += eventRoom + len(c.Path) + len(c.From) + len(c.Diff)
	}
	for _, m := range e.Media {
		n += eventRoom + len(m.Data) + len(m.URL)
	}
	if e.Ran == nil {
		return n
	}
	if n += len(e.Ran.Err); e.Ran.Exit != nil {
		for _, process := range e.Ran.Exit.Left {
			n += len(process)
		}
	}
	return n
}
