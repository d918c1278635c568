package openaichat

import (
	"bytes"

	"github.com/attractor-go/attractor/llm/internal/api"
)

// delta is a chunk with a single piece.
type delta struct {
	kind  deltaKind
	index int // of the call, for arguments
	text  string
}

type deltaKind uint8

const (
	emptyDelta deltaKind = iota
	contentDelta
	reasoningContentDelta
	reasoningDelta
	argumentsDelta
)

// deltaScanner decodes the chunks that come by the thousand. It is part of the decoder, so that a scan allocates nothing but the
// text.
type deltaScanner struct {
	api.Scanner
	d                delta
	choices, indexed bool // which members were seen
}

// scan decodes a chunk with one piece of text, reasoning or arguments. It returns false for every other chunk and for JSON that
// it does not expect.
func (s *deltaScanner) scan(data []byte) (d delta, ok bool) {
	*s = deltaScanner{Scanner: api.Scan(data)}
	ok = s.members((*deltaScanner).chunk)
	s.End()
	return s.d, ok && s.choices && s.OK() && s.indexed == (s.d.kind == argumentsDelta)
}

// members reads an object whose members are all known and occur once.
func (s *deltaScanner) members(read func(s *deltaScanner, key []byte) bool) bool {
	var seen [16][]byte
	s.Want('{')
	if s.Is('}') {
		return s.OK()
	}
	for n := 0; s.OK() && n < len(seen); n++ {
		seen[n] = s.Word()
		for _, key := range seen[:n] {
			if bytes.Equal(key, seen[n]) {
				return false
			}
		}
		s.Want(':')
		if !read(s, seen[n]) {
			return false
		}
		if !s.Is(',') {
			s.Want('}')
			return s.OK()
		}
	}
	return false
}

// only reads a list of one object.
func (s *deltaScanner) only(read func(s *deltaScanner, key []byte) bool) bool {
	s.Want('[')
	ok := s.members(read)
	s.Want(']')
	return ok
}

// chunk reads a member of a chunk. Members not listed here and below may be important, so they end the scan.
func (s *deltaScanner) chunk(key []byte) bool {
	switch string(key) {
	case "id", "model", "system_fingerprint", "service_tier", "provider", "obfuscation":
		return s.word()
	case "object":
		return string(s.Word()) != "error"
	case "created":
		s.Number()
		return true
	case "usage", "error", "x_groq", "timings":
		return s.Null()
	case "choices":
		s.choices = true
		return s.only((*deltaScanner).choice)
	}
	return false
}

func (s *deltaScanner) choice(key []byte) bool {
	switch string(key) {
	case "index":
		return s.Int() == 0
	case "delta":
		return s.members((*deltaScanner).message)
	case "finish_reason", "logprobs", "native_finish_reason", "matched_stop", "stop_reason", "token_ids":
		return s.Null()
	}
	return false
}

func (s *deltaScanner) message(key []byte) bool {
	switch string(key) {
	case "role":
		return s.word()
	case "content":
		return s.Null() || s.piece(contentDelta)
	case "reasoning_content":
		return s.Null() || s.piece(reasoningContentDelta)
	case "reasoning":
		return s.Null() || s.piece(reasoningDelta)
	case "refusal", "function_call", "reasoning_details":
		return s.Null()
	case "tool_calls":
		return s.Null() || s.only((*deltaScanner).call)
	}
	return false
}

func (s *deltaScanner) call(key []byte) bool {
	switch string(key) {
	case "index":
		s.d.index = s.Int()
		s.indexed = true
		return true
	case "type":
		return s.word()
	case "function":
		return s.members((*deltaScanner).function)
	}
	return false
}

func (s *deltaScanner) function(key []byte) bool {
	return string(key) == "arguments" && s.piece(argumentsDelta)
}

// piece reads the only text of the chunk. Empty arguments count as a piece, because they belong to a call.
func (s *deltaScanner) piece(kind deltaKind) bool {
	text := s.Text()
	if text == "" && kind != argumentsDelta {
		return true
	}
	if s.d.kind != emptyDelta {
		return false
	}
	s.d.kind, s.d.text = kind, text
	return true
}

// word skips a string that does not matter, or null.
func (s *deltaScanner) word() bool {
	if !s.Null() {
		s.Word()
	}
	return s.OK()
}
