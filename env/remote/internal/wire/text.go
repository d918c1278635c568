package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Text is a string of any bytes, such as a file name. JSON has it as a string if it is valid UTF-8,
// and otherwise as an object with its bytes in base64: {"base64":"/w=="}.
type Text string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(base64Text{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b base64Text
		err := json.Unmarshal(data, &b)
		*t = Text(b.Base64)
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*t = Text(s)
	return err
}

// Texts returns strings as texts.
func Texts(list []string) []Text { return convert[Text](list) }

// Strings returns texts as strings. It keeps nil, which means unknown in some lists.
func Strings(list []Text) []string { return convert[string](list) }

func convert[To, From ~string](list []From) []To {
	if list == nil {
		return nil
	}
	to := make([]To, len(list))
	for i, s := range list {
		to[i] = To(s)
	}
	return to
}

// Time is a time as [seconds, nanoseconds] since 1970 in UTC. Unlike the text of RFC 3339 it has
// every time that a file can have.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{t.Unix(), int64(t.Nanosecond())})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(data []byte) error {
	var parts [2]int64
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if parts[1] < 0 || parts[1] >= 1e9 {
		return errors.New("a time's nanoseconds must be from 0 to 999,999,999")
	}
	t.Time = time.Unix(parts[0], parts[1])
	return nil
}

// List is a list of at most MaxEntries elements, which have at most MaxNested elements of their own
// in all. The limits keep a short text from becoming a large value.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler. It ends at the first element that is wrong.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.Join(errors.New("a list was expected"), err)
	}
	*l = nil
	nested := 0
	for d.More() {
		if len(*l) == MaxEntries {
			return fmt.Errorf("a list of more than %d elements: %w", MaxEntries, ErrTooLarge)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		if of, ok := any(v).(interface{ elements() int }); ok {
			if nested += of.elements(); nested > MaxNested {
				return fmt.Errorf("lists of more than %d elements: %w", MaxNested, ErrTooLarge)
			}
		}
		*l = append(*l, v)
	}
	return nil
}
