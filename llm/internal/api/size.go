package api

import "github.com/attractor-go/attractor/llm"

// MaxContent limits the content of a response, in bytes: text, thinking and arguments together. It
// is far more than any model writes in one response.
const MaxContent = 16 << 20

// The limits of the forms of a response. They are larger, because JSON escapes make a text longer,
// and the last event of a stream may repeat all of it.
const (
	maxEvent = 2 * MaxContent // of one event
	maxWhole = 2 * MaxContent // of a response that is one JSON value
	maxBody  = 1 << 30        // of the whole body, so that events without content cannot go on forever
)

// perBlock is the size that a content block counts at least, so that a response cannot consist of
// endless empty blocks. A session keeps each block until the response ends, and looks through them
// with each event.
const perBlock = 1 << 10

// size counts a response's content.
type size struct{ content int }

// Count adds n bytes of content.
func (s *size) Count(n int) { s.content += n }

// CountBlock adds a content block with its id and its name.
func (s *size) CountBlock(id, name string) { s.Count(perBlock + len(id) + len(name)) }

// Check returns a final [llm.ErrStream] if the content exceeds [MaxContent].
func (s *size) Check() error {
	if s.content <= MaxContent {
		return nil
	}
	return tooLong("the response was cut off because it has more than %d MiB of text, thinking and arguments",
		MaxContent>>20)
}

// Tokens returns a count of tokens that a server has reported, or the nearest one that can be true:
// not negative, and small enough to add.
func Tokens(n int) int {
	const most = 1 << 30 // more than any real count
	return min(max(n, 0), most)
}

// tooLong returns a final error, because another attempt would be just as long.
func tooLong(format string, limit int) *llm.Error {
	e := llm.Errorf(llm.ErrStream, format+"; ask for less in one response", limit)
	e.Final = true
	return e
}
