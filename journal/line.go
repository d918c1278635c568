package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// deepest holds the depth that encoding/json can read. In its line, a body is one level deeper than
// by itself.
const deepest = 10_000

// line holds a line's content. More reports whether the next line belongs to the same Append. A
// batch whose last line is missing was torn by a crash and counts as never written.
type line struct {
	Record
	More bool `json:"more"`
}

// AppendLine appends to b the line of a record with its checksum and line break, as FORMAT.md
// describes it and a [Dir] writes it. More reports whether the next line belongs to the same
// Append. If the data is not JSON, or is nested too deep to be read again, AppendLine returns b
// unchanged and an error.
func AppendLine(b []byte, r Record, more bool) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	if err := encodeLine(buf, r.N, r, more); err != nil {
		return b, fmt.Errorf("journal: record %d (%s): %w", r.N, r.Kind, err)
	}
	return buf.Bytes(), nil
}

// ParseLine reads a line that AppendLine has made, or a line of version 1 of the format, which has
// no checksum. The line break may be missing. The error for any other text wraps ErrCorrupt. The
// caller must check that the numbers have no gaps, and that a line with more is followed by
// another.
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

// encodeBatch returns the lines of one Append.
func encodeBatch(next int64, records []Record) ([]byte, error) {
	const around = 256 // what a line has around its data
	size := 0
	for _, r := range records {
		size += len(r.Data) + around
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	for i, r := range records {
		if err := encodeLine(b, next+int64(i), r, i < len(records)-1); err != nil {
			return nil, fmt.Errorf("journal: record %d (%s): %w", next+int64(i), r.Kind, err)
		}
	}
	return b.Bytes(), nil
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
		if err := json.Compact(b, r.Data); err != nil {
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

// brackets returns a cheap upper bound of the depth of data.
func brackets(data []byte) int {
	return bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("["))
}

// dataBegin stands before the data, which is the last member. No string in front of it has a quote
// that is not escaped.
const dataBegin = `,"d":`

// decodeLine decodes a line without checking its checksum. The data may be a part of the text. That
// of a line with a checksum is not looked at: it was JSON when it was written.
func decodeLine(text []byte) (l line, err error) {
	head, data, has := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(dataBegin))
	data, closed := bytes.CutSuffix(data, []byte("}"))
	if !has || !closed || !bytes.HasPrefix(text, []byte(sumBegin)) {
		err = json.Unmarshal(text, &l)
		return l, err
	}
	if err = json.Unmarshal(append(bytes.Clone(head), '}'), &l); err == nil {
		l.Data = data
	}
	return l, err
}
