package jsonscan

import "encoding/binary"

// deepest holds the depth up to which encoding/json reads objects and arrays.
const deepest = 10_000

// Skip reads any value that encoding/json reads. White space may stand within the value, not before it.
func (s *Scanner) Skip() {
	switch c := s.peek(); c {
	case '"':
		s.text()
	case '{':
		s.members()
	case '[':
		s.elements()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.digits()
	}
}

func (s *Scanner) members() {
	s.open('{')
	if s.white(); s.peek() == '}' {
		s.close('}')
		return
	}
	for !s.bad {
		s.white()
		s.text()
		s.white()
		s.take(':')
		s.white()
		s.Skip()
		if s.white(); s.peek() == '}' {
			s.close('}')
			return
		}
		s.take(',')
	}
}

func (s *Scanner) elements() {
	s.open('[')
	if s.white(); s.peek() == ']' {
		s.close(']')
		return
	}
	for !s.bad {
		s.white()
		s.Skip()
		if s.white(); s.peek() == ']' {
			s.close(']')
			return
		}
		s.take(',')
	}
}

// white reads white space.
func (s *Scanner) white() {
	for !s.dense && s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *Scanner) literal(word string) {
	end := s.at + len(word)
	if s.bad || end > len(s.data) || string(s.data[s.at:end]) != word {
		s.bad = true
		return
	}
	s.at = end
}

// digits reads a number and returns its text.
func (s *Scanner) digits() []byte {
	from := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else {
		s.run()
	}
	if s.peek() == '.' {
		s.at++
		s.run()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		s.run()
	}
	if s.bad {
		return nil
	}
	return s.data[from:s.at]
}

// run reads one digit or more.
func (s *Scanner) run() {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	s.bad = s.bad || s.at == from
}

// text reads a string and reports whether it has escapes.
func (s *Scanner) text() (escaped bool) {
	for s.take('"'); !s.bad; {
		s.at = plain(s.data, s.at)
		switch s.peek() {
		case '"':
			s.at++
			return escaped
		case '\\':
			s.at++
			escaped = true
			s.escape()
		default:
			s.bad = true
		}
	}
	return false
}

// escape reads the rest of an escape.
func (s *Scanner) escape() {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
	case 'u':
		s.at++
		for range 4 {
			c := s.peek() | 0x20 // the lower case of a letter
			if s.bad = s.bad || !(s.peek() >= '0' && s.peek() <= '9' || c >= 'a' && c <= 'f'); s.bad {
				return
			}
			s.at++
		}
	default:
		s.bad = true
	}
}

// plain returns the index of the first byte from at on that may not stand in a string as it is, or the length of the data.
func plain(data []byte, at int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(data); at += 8 {
		word := binary.LittleEndian.Uint64(data[at:])
		quote, backslash := word^ones*'"', word^ones*'\\'
		// A byte below n makes the high bit of its difference to n, unless its own high bit was set.
		found := (quote - ones) &^ quote
		found |= (backslash - ones) &^ backslash
		found |= (word - ones*' ') &^ word
		if found&highs != 0 {
			break
		}
	}
	for ; at < len(data); at++ {
		if c := data[at]; c < ' ' || c == '"' || c == '\\' {
			return at
		}
	}
	return at
}
