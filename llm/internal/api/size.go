package api

import "github.com/attractor-go/attractor/llm"

// MaxAnswer bounds an answer's content, in bytes: text, thinking and arguments together. It is far more than any model says in
// one answer.
const MaxAnswer = 16 << 20

// Limits of the forms in which an answer comes. JSON escapes make a text longer, and the last event of a stream may repeat all
// of it.
const (
	maxEvent = 2 * MaxAnswer // of one event
	maxWhole = 2 * MaxAnswer // of an answer that is one JSON value
	maxBody  = 1 << 30       // of everything that is read, so that events without content do not go on for ever
)

// perBlock is what a content block counts at least, so that an answer cannot consist of empty ones without end.
const perBlock = 128

// Size adds up an answer's content. A [Decoder] embeds it.
type Size struct{ content int }

// Count adds n bytes of content.
func (s *Size) Count(n int) { s.content += n }

// CountBlock adds a content block, with its id and its name.
func (s *Size) CountBlock(id, name string) { s.Count(perBlock + len(id) + len(name)) }

// Check returns a final [llm.ErrStream] when there is more than [MaxAnswer].
func (s *Size) Check() error {
	if s.content <= MaxAnswer {
		return nil
	}
	return tooLong("the answer was cut off because it has more than %d MiB of text, thinking and arguments", MaxAnswer>>20)
}

// tooLong is final: whoever is asked again says as much.
func tooLong(format string, limit int) *llm.Error {
	e := llm.Errorf(llm.ErrStream, format+"; ask for less in one answer", limit)
	e.Final = true
	return e
}
