package texts

// maxToken is the length of the longest token that is not divided: as long as secrets are.
const maxToken = 256

// TokenStart returns the start of the token that goes on at an offset, where a text is to end so
// that it has no part of a secret. It returns the offset itself where no token goes on, or one that
// is long.
func TokenStart(text []byte, at int) int {
	if at < len(text) && !inToken(text[at]) {
		return at
	}
	for start := at; start >= max(0, at-maxToken); start-- {
		if start == 0 || !inToken(text[start-1]) {
			return start
		}
	}
	return at
}

// TokenEnd returns the end of the token that has begun before an offset, where a text is to begin
// so that it has no part of a secret. It returns the offset itself where no token goes on, or one
// that is long.
func TokenEnd(text []byte, at int) int {
	if at == 0 || !inToken(text[at-1]) {
		return at
	}
	for end := at; end <= min(len(text), at+maxToken); end++ {
		if end == len(text) || !inToken(text[end]) {
			return end
		}
	}
	return at
}

// inToken reports whether a byte may be in a secret.
func inToken(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '+' || c == '/' || c == '-' || c == '_' || c == '=' || c == '.'
}
