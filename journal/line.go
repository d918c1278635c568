package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/attractor-go/attractor/internal/jsonscan"
)

// deepest holds the depth that encoding/json can read. In its line, a body is one level deeper than by itself.
const deepest = 10_000

// line holds a line's content. More reports whether the next line belongs to the same Append. A batch whose last line is missing was
// torn by a crash and counts as never written.
type line struct {
	Record
	More bool `json:"more"`
}

// AppendLine appends to b the line of a record with its checksum and line break, as FORMAT.md describes it and a [Dir] writes it. More
// reports whether the next line belongs to the same Append. If the data is not JSON, or is nested too deep to be read again, AppendLine
// returns b unchanged and an error.
func AppendLine(b []byte, r Record, more bool) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	if err := encodeLine(buf, r.N, r, more); err != nil {
		return b, fmt.Errorf("journal: record %d (%s): %w", r.N, r.Kind, err)
	}
	return buf.Bytes(), nil
}

// ParseLine reads a line that AppendLine has made, or a line of version 1 of the format, which has no checksum. The line break may be
// missing. The error for any other text wraps ErrCorrupt. The caller must check that the numbers have no gaps, and that a line with
// more is followed by another.
func ParseLine(text []byte) (r Record, more bool, err error) {
	summed, err := checkSum(text)
	if err == nil && !summed && !bytes.HasPrefix(text, []byte(noSumBegin)) {
		err = errForm
	}
	var l line
	if err == nil {
		l, err = decodeLine(text)
		l.Data = bytes.Clone(l.Data)
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return l.Record, l.More, nil
}

// batches holds buffers for the lines of an Append, of at most mostBatch bytes.
var batches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const mostBatch = 64 << 10

// freeBatch makes a buffer from batches available again.
func freeBatch(b *bytes.Buffer) {
	if b.Cap() <= mostBatch {
		b.Reset()
		batches.Put(b)
	}
}

// encodeBatch appends the lines of one Append to b.
func encodeBatch(b *bytes.Buffer, next int64, records []Record) error {
	const around = 256 // what a line has around its data
	size := 0
	for _, r := range records {
		size += len(r.Data) + around
	}
	b.Grow(size)
	for i, r := range records {
		if err := encodeLine(b, next+int64(i), r, i < len(records)-1); err != nil {
			return fmt.Errorf("journal: record %d (%s): %w", next+int64(i), r.Kind, err)
		}
	}
	return nil
}

func encodeLine(b *bytes.Buffer, n int64, r Record, more bool) error {
	at := b.Len()
	b.WriteString(sumBegin + "00000000" + sumEnd)
	kind, err := json.Marshal(r.Kind)
	if err != nil {
		return err
	}
	b.WriteString(`"n":`)
	b.Write(strconv.AppendInt(b.AvailableBuffer(), n, 10))
	b.WriteString(`,"t":"`)
	stamp, err := r.Time.UTC().AppendText(b.AvailableBuffer())
	if err != nil {
		return fmt.Errorf("its time: %w", err)
	}
	b.Write(stamp)
	b.WriteString(`","k":`)
	b.Write(kind)
	if more {
		b.WriteString(`,"more":true`)
	}
	if r.Data != nil {
		b.WriteString(`,"d":`)
		if err := appendCompact(b, r.Data); err != nil {
			return fmt.Errorf("its data is not JSON: %w", err)
		}
	}
	b.WriteByte('}')
	if brackets(r.Data) >= deepest && !json.Valid(b.Bytes()[at:]) {
		return fmt.Errorf("its data is nested deeper than can be read again")
	}
	putSum(b.Bytes()[at:])
	b.WriteByte('\n')
	return nil
}

// appendCompact appends JSON without white space, so without line breaks. Most data has none.
func appendCompact(b *bytes.Buffer, data []byte) error {
	if jsonscan.Compact(data, 0) {
		b.Write(data)
		return nil
	}
	return json.Compact(b, data)
}

// brackets returns a cheap upper bound of the depth of data.
func brackets(data []byte) int {
	return bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("["))
}

// decodeLine decodes a line without checking its checksum. The data may be a part of the text.
func decodeLine(text []byte) (line, error) {
	if l, ok := scanLine(text); ok {
		return l, nil
	}
	var l line
	err := json.Unmarshal(text, &l)
	return l, err
}

// scanLine decodes a line of the form that encodeLine writes. The data is a part of the text. Ok is false for any other line, which
// encoding/json may be able to decode.
func scanLine(text []byte) (l line, ok bool) {
	s := jsonscan.New(bytes.TrimSuffix(text, []byte("\n")))
	s.Open()
	if s.Field("c") {
		s.Raw()
	}
	jsonscan.IntField(&s, "n", &l.N)
	if s.Field("t") {
		ok = l.Time.UnmarshalJSON(s.Raw()) == nil
	}
	jsonscan.StringField(&s, "k", &l.Kind)
	s.BoolField("more", &l.More)
	if s.Field("d") {
		l.Data = s.Raw()
	}
	s.Close()
	return l, ok && s.End()
}
