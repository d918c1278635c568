package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxDepth limits how deep the JSON of models and tools may be nested. Some editors cannot read a message that is deeper than 128.
const maxDepth = 64

// rawOf returns JSON of models and tools in a form that every editor can read: without numbers and characters that only some can. It returns nil
// for what is no JSON, too deep, or longer than most bytes.
func rawOf(data json.RawMessage, most int) json.RawMessage {
	if len(data) > most || !json.Valid(data) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	depth, plain := 0, utf8.Valid(data) && !bytes.Contains(data, []byte(`\u`))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
		case json.Number:
			plain = plain && inRange(t)
		}
		if err != nil || depth > maxDepth {
			return nil
		}
	}
	if plain {
		return data
	}
	return rewritten(data)
}

// rewritten returns JSON with U+FFFD for half characters, and texts for the numbers that are too large.
func rewritten(data json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil
	}
	encoded, err := json.Marshal(readable(value))
	if err != nil {
		return nil
	}
	return encoded
}

// readable replaces the numbers in a value that are too large.
func readable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = readable(member)
		}
	case []any:
		for i, member := range v {
			v[i] = readable(member)
		}
	case json.Number:
		if !inRange(v) {
			return v.String()
		}
	}
	return value
}

func inRange(n json.Number) bool {
	_, err := strconv.ParseFloat(n.String(), 64)
	return err == nil
}
