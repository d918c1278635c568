package pieces

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// Encode writes a value as one line of JSON, as a json.Encoder that does not escape HTML does. The long texts are strings inside the
// value. They are written piece by piece, because encoding/json would copy them several times. Meanwhile the value has other strings in
// their place.
func Encode(w io.Writer, value any, long ...*string) error {
	var texts []string
	marker := ""
	for _, p := range long {
		if len(*p) > chunk {
			if marker == "" {
				marker = rand.Text()
			}
			text := *p
			texts = append(texts, text)
			*p = marker
			defer func() { *p = text }()
		}
	}
	if len(texts) == 0 {
		return encoder(w).Encode(value)
	}
	var around bytes.Buffer
	if err := encoder(&around).Encode(value); err != nil {
		return err
	}
	for i, part := range bytes.Split(around.Bytes(), []byte(`"`+marker+`"`)) {
		if i > 0 {
			if err := encodeText(w, texts[i-1]); err != nil {
				return err
			}
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// encodeText writes a text as a JSON string. A piece never ends inside a character.
func encodeText(w io.Writer, text string) error {
	inner := []byte{'"'}
	var b bytes.Buffer
	enc := encoder(&b)
	for text != "" {
		n := pieceOf(text)
		b.Reset()
		if err := enc.Encode(text[:n]); err != nil {
			return err
		}
		inner = append(inner, b.Bytes()[1:b.Len()-len("\"\n")]...)
		if text = text[n:]; text == "" {
			inner = append(inner, '"')
		}
		if _, err := w.Write(inner); err != nil {
			return err
		}
		inner = inner[:0]
	}
	return nil
}

// pieceOf returns the size of a text's first piece.
func pieceOf(text string) int {
	if len(text) <= chunk {
		return len(text)
	}
	for n := chunk; n > chunk-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return chunk // only bytes that are not UTF-8 lie around it
}

// Size returns how many bytes Encode writes.
func Size(value any, long ...*string) (int, error) {
	var n counter
	err := Encode(&n, value, long...)
	return int(n), err
}

// counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
