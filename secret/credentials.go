package secret

import (
	"encoding/base64"
	"strings"
)

// matchAuthorization matches the credentials in an Authorization header, as HTTP, curl or JSON have it.
func matchAuthorization(text string, head int) (int, int, bool) {
	at := head
	for at < min(len(text), head+8) && strings.IndexByte("\"'\\:=> ,", text[at]) >= 0 {
		at++
	}
	if at == head && at < len(text) {
		return -1, 0, false
	}
	scheme := at
	at = runEnd(text, at, scheme+12, "")
	if at == len(text) {
		return -1, 0, at < scheme+12
	}
	if text[at] != ' ' {
		return -1, 0, false
	}
	from := at + 1
	switch strings.ToLower(text[scheme:at]) {
	case "basic":
		end := runEnd(text, from, from+maxToken, "+/=")
		return orNone(from, isBasic(text[from:end])), end, end == len(text) && end < from+maxToken
	case "bearer", "token", "apikey":
		end, more := tokenEnd(text, from)
		return orNone(from, end-from >= 16 && hasRun(text[from:end], "-")), end, more
	}
	return -1, 0, false
}

// tokenEnd returns the end of the bearer token that begins at an offset, without the full stop of a sentence.
func tokenEnd(text string, from int) (end int, more bool) {
	end = runEnd(text, from, from+maxToken, "._~+/=-")
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

// matchBearer matches a bearer token that has no name of a header before it. It must have letters and digits.
func matchBearer(text string, head int) (int, int, bool) {
	end, more := tokenEnd(text, head)
	credentials := text[head:end]
	ok := len(credentials) >= 24 && hasRun(credentials, "-") && strings.ContainsFunc(credentials, func(r rune) bool { return isDigit(byte(r)) }) &&
		strings.ContainsFunc(credentials, func(r rune) bool { return isLetter(byte(r)) })
	return orNone(head, ok), end, more
}

// The most bytes of the user and of the password in a URL.
const maxUser, maxPassword = 64, 256

// matchURL matches the password in a URL. It must have at least eight bytes, letters and digits, so that examples are left alone.
func matchURL(text string, head int) (int, int, bool) {
	const ends = " \t\r\n\"'`<>/\\@[](){}$"
	colon := head
	for colon < min(len(text), head+maxUser) && text[colon] != ':' {
		if strings.IndexByte(ends, text[colon]) >= 0 {
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
		if strings.IndexByte(ends, text[at]) >= 0 {
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
