package jsonscan

import "unicode/utf8"

// AppendString appends a text to b as a JSON string, as encoding/json writes it without escaping HTML.
func AppendString(b []byte, text string) []byte {
	b = append(b, '"')
	from := 0 // what is not appended yet
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if escape := escapeOf(r, size); escape != "" {
			b = append(append(b, text[from:i]...), escape...)
			from = i + size
		}
		i += size
	}
	return append(append(b, text[from:]...), '"')
}

// escapeOf returns the escape of a character of so many bytes, empty if it stands for itself.
func escapeOf(r rune, size int) string {
	const digits = "0123456789abcdef"
	switch {
	case r == '"':
		return `\"`
	case r == '\\':
		return `\\`
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r == '\b':
		return `\b`
	case r == '\f':
		return `\f`
	case r < ' ':
		return `\u00` + digits[r>>4:r>>4+1] + digits[r&15:r&15+1]
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	}
	return ""
}
