package api

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

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

// Count is a number of tokens as a server reports it. Counts of an unexpected form do not make a
// response fail: a number in quotes is read, a fraction is cut off, and anything else is zero.
type Count int

// UnmarshalJSON implements [json.Unmarshaler]. It takes the nearest number that can be true: not
// negative, and small enough to add. A null changes nothing.
func (c *Count) UnmarshalJSON(data []byte) error {
	const most = 1 << 30 // more than any real count
	if string(data) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) {
		f = 0
	}
	*c = Count(min(max(f, 0), most))
	return nil
}

// tooLong returns a final error, because another attempt would be just as long.
func tooLong(format string, limit int) *llm.Error {
	e := llm.Errorf(llm.ErrStream, format+"; ask for less in one response", limit)
	e.Final = true
	return e
}
