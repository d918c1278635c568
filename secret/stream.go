package secret

import (
	"hash/maphash"
	"io"
	"strings"
	"sync"
	"unsafe"
)

// Stream masks a text that arrives in pieces. It holds back only what may be the beginning of a
// secret. The result does not depend on how the text is cut into pieces. It is not safe for
// concurrent use.
type Stream struct {
	masker *Masker
	held   []byte // what may be the beginning of a secret
	before []byte // the end of the text before held
	out    []byte // reused
	rescan int    // the length of held with which it is looked at again
	shared *shared
}

// Stream returns a new stream.
func (m *Masker) Stream() *Stream { return &Stream{masker: m} }

// Twin returns another stream for the same Masker. The two may get different texts, but if they get
// the same pieces, one of them has little to do. Twins may be used concurrently.
func (s *Stream) Twin() *Stream {
	if s.shared == nil {
		s.shared = new(shared)
	}
	return &Stream{masker: s.masker, shared: s.shared}
}

// Next adds a piece of text and returns what can be shown of the text so far, beyond what Next has
// returned before.
func (s *Stream) Next(piece string) string {
	shown := view(s.NextBytes(bytesOf(piece)))
	if len(shown) <= len(piece) && shown == piece[:len(shown)] { // needs no copy
		return piece[:len(shown)]
	}
	return strings.Clone(shown)
}

// NextBytes does what Next does for bytes. The result may be a part of the piece, and is valid
// until the next call.
func (s *Stream) NextBytes(piece []byte) []byte { return s.add(piece, false) }

// Held returns what is held back: the end of the text so far, as far as it may be the beginning of
// a secret.
func (s *Stream) Held() string { return string(s.held) }

// Flush ends the text and returns the rest of it. The stream can then be used for another text.
func (s *Stream) Flush() string { return string(s.flush()) }

func (s *Stream) flush() []byte {
	out := s.add(nil, true)
	s.before = s.before[:0]
	return out
}

// add adds a piece to what is held and returns what can be shown. The result is valid until the
// next call.
func (s *Stream) add(piece []byte, final bool) []byte {
	text, held := view(piece), len(s.held) > 0
	if held {
		s.held = append(s.held, piece...)
		if len(s.held) < s.rescan && !final {
			return nil
		}
		text = view(s.held)
	}
	regions, safe := s.scan(text, final)
	shown := bytesOf(text[:safe])
	if held || len(regions) > 0 { // keep changes what is held
		s.out = s.masker.replace(s.out[:0], text[:safe], regions)
		shown = s.out
	}
	s.keep(text, regions, safe)
	return shown
}

// scan looks for secrets in what was not decided so far.
func (s *Stream) scan(text string, final bool) ([]region, int) {
	m, before := s.masker.current(), view(s.before)
	if final {
		return m.scan(text, before, true)
	}
	if safe, ok := s.shared.look(m, text, before); ok {
		return nil, safe
	}
	regions, safe := m.scan(text, before, false)
	if len(regions) == 0 {
		s.shared.keep(m, text, before, safe)
	}
	return regions, safe
}

// keep holds what was not decided of a text, and what decides whether a word begins there.
func (s *Stream) keep(text string, regions []region, safe int) {
	switch n := len(regions); {
	case n > 0 && regions[n-1].end == safe:
		s.before = append(s.before[:0], ']')
	case safe >= leftContext:
		s.before = append(s.before[:0], text[safe-leftContext:safe]...)
	default:
		s.before = append(s.before, text[:safe]...)
		s.before = s.before[max(0, len(s.before)-leftContext):]
	}
	s.held = append(s.held[:0], text[safe:]...) // may be a part of held itself, further behind
	s.rescan = 0
	if n := len(s.held); n >= longHeld { // looking at it with each small piece would take long
		s.rescan = n + n/16
	}
}

// longHeld is the number of bytes held back from which on more than a piece has to come for another
// look at them.
const longHeld = 1 << 10

// bytesOf returns the bytes of a text, which must not be changed.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// view returns p as a string. It is valid as long as p is not changed.
func view(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// Writer masks what is written to it and writes it on. It holds back what may be the beginning of a
// secret until Flush. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	stream *Stream

	matcher *matcher // at the beginning, if the text is to be known as clean
	hash    maphash.Hash
	written int
}

// Writer returns a Writer to w.
func (m *Masker) Writer(w io.Writer) *Writer { return m.Stream().Writer(w) }

// Writer returns a Writer that masks with the stream, which must not be used by others. If the
// stream has twins, what was written is known to the Masker until the next secret is registered, so
// that String has little to do if it gets the whole of it.
func (s *Stream) Writer(w io.Writer) *Writer {
	writer := &Writer{to: w, stream: s}
	if s.shared != nil {
		writer.matcher = s.masker.current()
		writer.hash.SetSeed(writer.matcher.clean.seed)
	}
	return writer
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pass(w.stream.NextBytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back, as at the end of a text. It does not flush or close the
// destination.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.pass(w.stream.flush())
	if w.matcher != nil && w.matcher == w.stream.masker.current() && w.written >= worthHash {
		w.matcher.clean.add(w.hash.Sum64())
	}
	w.hash.Reset()
	w.written = 0
	return err
}

// pass writes masked text on.
func (w *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if w.matcher != nil {
		_, _ = w.hash.Write(text) // never fails
		w.written += len(text)
	}
	_, err := w.to.Write(text)
	return err
}
