package secret

import (
	"encoding/base64"
	"strings"
)

// matchAuthorization matches the credentials in an Authorization header, as HTTP, curl or JSON have
// it.
func matchAuthorization(s *suffix, head int) (int, int, bool) {
	text := s.text
	at := head
	for at < min(len(text), head+8) && strings.IndexByte("\"'\\:=> ,", text[at]) >= 0 {
		at++
	}
	if at == head && at < len(text) {
		return -1, 0, false
	}
	scheme := at
	at = s.runEnd(at, scheme+12, "")
	if at == len(text) {
		return -1, 0, at < scheme+12
	}
	if text[at] != ' ' {
		return -1, 0, false
	}
	from := at + 1
	switch strings.ToLower(text[scheme:at]) {
	case "basic":
		end := s.runEnd(from, from+maxToken, "+/=")
		return orNone(from, isBasic(text[from:end])), end, end == len(text) && end < from+maxToken
	case "bearer", "token", "apikey":
		end, more := tokenEnd(s, from)
		return orNone(from, end-from >= 16 && s.hasRun(from, end)), end, more
	}
	return -1, 0, false
}

// tokenEnd returns the end of the bearer token that begins at an offset, without the full stop of a
// sentence.
func tokenEnd(s *suffix, from int) (end int, more bool) {
	text := s.text
	end = s.runEnd(from, from+maxToken, "._~+/=-")
	more = end == len(text) && end < from+maxToken
	for end > from && text[end-1] == '.' {
		end--
	}
	return end, more
}

// isBasic reports whether credentials are a user and a password in base64.
func isBasic(credentials string) bool {
	if len(credentials) < 12 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(credentials, "="))
	return err == nil && strings.IndexByte(string(plain), ':') > 0
}

// matchBearer matches a bearer token that has no name of a header before it. It must have letters
// and digits.
func matchBearer(s *suffix, head int) (int, int, bool) {
	text := s.text
	end, more := tokenEnd(s, head)
	credentials := text[head:end]
	ok := len(credentials) >= 24 && s.hasRun(head, end) && strings.ContainsFunc(credentials,
		func(r rune) bool { return isDigit(byte(r)) }) &&
		strings.ContainsFunc(credentials, func(r rune) bool { return isLetter(byte(r)) })
	return orNone(head, ok), end, more
}

// The most bytes of the user and of the password in a URL.
const maxUser, maxPassword = 64, 256

// inURL reports whether a byte can be in the user or the password of a URL.
func inURL(c byte) bool { return strings.IndexByte(" \t\r\n\"'`<>/\\@[](){}$", c) < 0 }

// matchURL matches the password in a URL. It must have at least eight bytes, letters and digits, so
// that examples are left alone.
func matchURL(s *suffix, head int) (int, int, bool) {
	text := s.text
	colon := head
	for colon < min(len(text), head+maxUser) && text[colon] != ':' {
		if !inURL(text[colon]) {
			return -1, 0, false
		}
		colon++
	}
	if colon == head+maxUser || colon == len(text) {
		return -1, 0, colon < head+maxUser
	}
	from := colon + 1
	at := from
	for at < min(len(text), from+maxPassword) && text[at] != '@' {
		if !inURL(text[at]) {
			return -1, 0, false
		}
		at++
	}
	if at == from+maxPassword || at == len(text) {
		return -1, 0, at < from+maxPassword
	}
	return orNone(from, isPassword(text[from:at])), at, false
}

// isPassword reports whether a text in the place of a password is probably a real one.
func isPassword(text string) bool {
	letters, digits := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			i += 2
		case isLetter(c):
			letters++
		case isDigit(c):
			digits++
		}
	}
	return len(text) >= 8 && letters > 0 && digits > 0
}
