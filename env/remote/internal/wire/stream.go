package wire

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Type is the kind of a message.
type Type byte

// The messages. A stream begins with a request of the near side. Its last message is a Done of the
// far side.
const (
	TypeRequest Type = 1  // JSON: Request
	TypeData    Type = 2  // bytes of a file or of a command's input
	TypeEnd     Type = 3  // the end of the data
	TypeAnswer  Type = 4  // a part of the JSON of the answer
	TypeDone    Type = 5  // JSON: Done
	TypeStarted Type = 6  // JSON: Started
	TypeStdout  Type = 7  // bytes
	TypeStderr  Type = 8  // bytes
	TypeEnded   Type = 9  // one byte: the number of the stream of output that no process has open any more
	TypeInput   Type = 10 // JSON: Done. The command does not read its input any more
)

// Done ends an operation.
type Done struct {
	Error *Error `json:"error,omitempty"`
}

// headerSize is the length of a message's header: its type, and the length of its payload in 4
// bytes, big-endian.
const headerSize = 5

// limit returns the largest payload of a message.
func (t Type) limit() int {
	if t == TypeRequest {
		return MaxRequest
	}
	return MaxData
}

// ErrProtocol is wrapped by the errors for what the protocol does not allow.
var ErrProtocol = errors.New("the other side does not keep to the protocol")

// Broken is the error of a stream that carries nothing more, or whose messages cannot be
// understood.
type Broken struct{ Err error }

// Error implements error.
func (b *Broken) Error() string { return b.Err.Error() }

// Unwrap returns the cause.
func (b *Broken) Unwrap() error { return b.Err }

// misuse returns the error for what the protocol does not allow.
func misuse(format string, args ...any) error {
	return &Broken{fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))}
}

// Stream is the conversation about one operation. One goroutine may receive, and any number send.
type Stream struct {
	raw     rawStream
	in      *bufio.Reader
	answers *budget // of the bytes that answers may hold

	mu  sync.Mutex
	out []byte // kept for the next message
}

func newStream(s rawStream, among *waiters, answers *budget) *Stream {
	raw := &waiter{s, among}
	return &Stream{raw: raw, in: bufio.NewReaderSize(raw, 1<<10), answers: answers}
}

// Send sends messages together.
func (s *Stream) Send(messages ...Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = s.out[:0]
	for _, m := range messages {
		s.out = append(s.out, byte(m.Type))
		s.out = binary.BigEndian.AppendUint32(s.out, uint32(len(m.Payload)))
		s.out = append(s.out, m.Payload...)
	}
	_, err := s.raw.Write(s.out)
	if cap(s.out) > 2*MaxData {
		s.out = nil
	}
	if err != nil {
		return &Broken{err}
	}
	return nil
}

// Message is a message of a stream.
type Message struct {
	Type    Type
	Payload []byte
}

// JSON returns a message with a value as JSON.
func JSON(t Type, v any) (Message, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Message{}, err
	}
	if len(data) > t.limit() {
		return Message{}, fmt.Errorf("a request of %d bytes, and %d are the most: %w", len(data), t.limit(),
			ErrTooLarge)
	}
	return Message{t, data}, nil
}

// Request sends the request that begins an operation.
func (s *Stream) Request(r Request) error {
	m, err := JSON(TypeRequest, r)
	if err != nil {
		return err
	}
	return s.Send(m)
}

// Finish sends an answer, unless it is nil, and the end of the operation with its error.
func (s *Stream) Finish(answer any, failure error) error {
	var messages []Message
	if answer != nil && failure == nil {
		data, err := json.Marshal(answer)
		if err == nil && len(data) > MaxAnswer {
			err = fmt.Errorf("an answer of %d bytes, and %d are the most; ask for less: %w", len(data), MaxAnswer,
				ErrTooLarge)
		}
		failure = err
		for ; err == nil && len(data) > MaxData; data = data[MaxData:] {
			if err := s.Send(Message{TypeAnswer, data[:MaxData]}); err != nil {
				return err
			}
		}
		messages = append(messages, Message{TypeAnswer, data})
	}
	e := ErrorOf(failure)
	done, err := JSON(TypeDone, Done{e})
	if err != nil { // a text that is too long
		e.Text, e.Path = e.Text[:min(len(e.Text), MaxData/8)], ""
		done, err = JSON(TypeDone, Done{e})
	}
	if err != nil {
		return err
	}
	if failure != nil {
		messages = nil
	}
	return s.Send(append(messages, done)...)
}

// Receive returns the next message. Its payload is read into buf if that is large enough.
func (s *Stream) Receive(buf []byte) (Message, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		return Message{}, &Broken{err}
	}
	m := Message{Type: Type(header[0])}
	length := binary.BigEndian.Uint32(header[1:])
	if m.Type < TypeRequest || m.Type > TypeInput || int64(length) > int64(m.Type.limit()) {
		return Message{}, misuse("a message of type %d with %d bytes", m.Type, length)
	}
	if int(length) > cap(buf) {
		buf = make([]byte, length)
	}
	m.Payload = buf[:length]
	if _, err := io.ReadFull(s.in, m.Payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, &Broken{err}
	}
	return m, nil
}

// Answer receives the answer of an operation, and stores it in the value that into points to unless
// that is nil. The error is the operation's, or a Broken one.
func (s *Stream) Answer(into any) error {
	var answer []byte
	defer func() { s.answers.give(len(answer)) }()
	for {
		m, err := s.Receive(nil)
		if err != nil {
			return err
		}
		switch m.Type {
		case TypeAnswer:
			if len(answer)+len(m.Payload) > MaxAnswer || into == nil {
				return misuse("an answer that is too long or was not asked for")
			}
			if !s.answers.take(len(m.Payload)) {
				return fmt.Errorf("the answers that arrive at the same time have more than %d bytes: %w", maxAnswers,
					ErrTooLarge)
			}
			answer = append(answer, m.Payload...)
		case TypeDone:
			failure, err := m.Failure()
			if err = cmp.Or(err, failure); err != nil { // one, so that an fs.PathError stays the outermost
				return err
			}
			return Decode(answer, into)
		default:
			return misuse("a message of type %d in place of an answer", m.Type)
		}
	}
}

// Decode stores an answer, which must be complete, unless into is nil.
func Decode(answer []byte, into any) error {
	if into == nil {
		return nil
	}
	err := json.Unmarshal(answer, into)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return misuse("an answer: %w", err)
	}
	return err
}

// Failure returns the operation's error that a Done has. Err says what is wrong with the message.
func (m Message) Failure() (failure, err error) {
	var d Done
	if err := m.Into(TypeDone, &d); err != nil {
		return nil, err
	}
	return d.Error.Err(), nil
}

// Into stores a message's JSON. The message must be of the given type.
func (m Message) Into(t Type, v any) error {
	if m.Type != t {
		return misuse("a message of type %d in place of %d", m.Type, t)
	}
	if err := json.Unmarshal(m.Payload, v); err != nil {
		return misuse("a message of type %d: %w", t, err)
	}
	return nil
}

// Cancel stops receiving, and ends the operation on the other side. It does not wait for the
// connection.
func (s *Stream) Cancel() {
	_ = s.raw.SetReadDeadline(past()) // it cannot fail
	go s.Close()
}

// Close ends the stream. The other side takes it for a cancellation if the operation has not ended.
func (s *Stream) Close() { _ = s.raw.Close() } // a stream of the multiplexer reports nothing

// maxAnswers limits the bytes that answers may hold at a time on one link.
const maxAnswers = 4 * MaxAnswer

// budget counts bytes down.
type budget struct {
	mu   sync.Mutex
	left int
}

// take reports whether there were n left, and takes them.
func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}
