package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// deepest is how deep encoding/json reads; a body is one level deeper in its line than by itself.
const deepest = 10_000

// head is a line without its body. More says that the line after it belongs to the same Append: a batch whose last line is
// missing was torn by a crash and counts as never written.
type head struct {
	N    int64     `json:"n"`
	Time time.Time `json:"t"`
	Kind string    `json:"k"`
	More bool      `json:"more"`
}

// encodeBatch writes the lines of one Append.
func encodeBatch(next int64, records []Record) ([]byte, error) {
	var b bytes.Buffer
	for i, r := range records {
		if err := encodeLine(&b, next+int64(i), r, i < len(records)-1); err != nil {
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
	stamp, err := r.Time.UTC().MarshalJSON()
	if err != nil {
		return err
	}
	b.WriteString(`"n":`)
	b.Write(strconv.AppendInt(b.AvailableBuffer(), n, 10))
	b.WriteString(`,"t":`)
	b.Write(stamp)
	b.WriteString(`,"k":`)
	b.Write(kind)
	if more {
		b.WriteString(`,"more":true`)
	}
	if r.Data != nil {
		b.WriteString(`,"d":`)
		if err := json.Compact(b, r.Data); err != nil { // a line break in it would end the line
			return fmt.Errorf("its data is no JSON: %w", err)
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

// brackets is at least the depth of data, and cheap to find.
func brackets(data []byte) int {
	return bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("["))
}

// decodeLine reads a line that decodeHead has accepted, or that is not what it was.
func decodeLine(text []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(text, &r)
	return r, err
}

// decodeHead reads all of a line but its body, whose syntax is checked all the same.
func decodeHead(text []byte) (head, error) {
	var h head
	err := json.Unmarshal(text, &h)
	return h, err
}
