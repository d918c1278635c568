package fuzzy

// Plain returns the ASCII character that a typographic hyphen, dash, quote or space stands for, and
// any other character unchanged.
func Plain(r rune) rune {
	switch {
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212: // hyphens, dashes, minus
		return '-'
	case r >= 0x2018 && r <= 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	case r == 0x00A0 || r >= 0x2002 && r <= 0x200A || r == 0x202F || r == 0x205F || r == 0x3000:
		return ' '
	}
	return r
}
