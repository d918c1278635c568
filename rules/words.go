package rules

import (
	"errors"
	"strings"
)

// Bytes that stand for something else in a pattern of words and in the text that it is compared
// with. A command cannot contain NUL.
const (
	between  = '\x00' // ends a word
	anyWords = '\x01' // any text
	anyText  = '\x02' // any text in one word
)

// wordPattern holds a pattern for the words of a command, each ended by between.
type wordPattern struct {
	text   string
	start  string // what the words begin with
	narrow bool   // has anyText
	all    bool   // matches every command
}

// maxNarrow is the length of the words up to which anyText stays in one word. Beyond it the search
// could take long.
const maxNarrow = 16 << 10

// parseWords reads a pattern as a shell reads words. A star stands for any text or, in quotes, for
// any text in that word. At the end, " *" and ":*" stand for any further words.
func parseWords(text string) (p wordPattern, err error) {
	if strings.ContainsAny(text, "\x00\x01\x02") {
		return p, errors.New("it contains a control character")
	}
	text = strings.TrimSpace(text)
	open := false
	if prefix, ok := strings.CutSuffix(text, ":*"); ok {
		text, open = strings.TrimRight(prefix, " \t"), true
	} else if prefix, ok := strings.CutSuffix(text, " *"); ok && !strings.HasSuffix(prefix, `\`) {
		text, open = strings.TrimRight(prefix, " \t"), true
	} else if text == "*" {
		text, open = "", true
	}
	if strings.Contains(text, ":*") {
		return p, errors.New("\":*\" can stand only at its end; use * for any text elsewhere")
	}
	if text == "" {
		if !open {
			return p, errors.New("it is empty; without a pattern, Bash alone matches every command")
		}
		return wordPattern{all: true}, nil
	}
	words, err := patternWords(text)
	if err != nil {
		return p, err
	}
	p.text, p.narrow = words+string(between), strings.ContainsRune(words, anyText)
	if open {
		p.text += string(anyWords)
	}
	if p.start = p.text; strings.ContainsAny(p.text, "\x01\x02") {
		p.start = p.text[:strings.IndexAny(p.text, "\x01\x02")]
	}
	return p, nil
}

// patternWords removes quotes and puts the special bytes for spaces and stars.
func patternWords(text string) (string, error) {
	var b strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if quote == 0 && (c == ' ' || c == '\t' || c == '\n') {
			if inWord {
				b.WriteByte(between)
			}
			inWord = false
			continue
		}
		inWord = true
		switch {
		case c == '\\' && i+1 < len(text) && (quote == 0 || text[i+1] == '*' || quote == '"' &&
			strings.IndexByte("\"\\$`", text[i+1]) >= 0):
			i++
			b.WriteByte(text[i])
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '*' && quote == 0:
			b.WriteByte(anyWords)
		case c == '*':
			b.WriteByte(anyText)
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", errors.New("a quote in it is not closed; write \\\" for the character")
	}
	return b.String(), nil
}

// joined returns words in the form that patterns are compared with.
func joined(words []string) string {
	n := len(words)
	for _, w := range words {
		n += len(w)
	}
	var b strings.Builder
	b.Grow(n)
	for _, w := range words {
		b.WriteString(w)
		b.WriteByte(between)
	}
	return b.String()
}

// matches reports whether the pattern matches joined words. wide says that a match by mistake does
// less harm than none.
func (p *wordPattern) matches(words string, wide bool) bool {
	switch {
	case p.all:
		return true
	case !strings.HasPrefix(words, p.start):
		return false
	case p.narrow && len(words) > maxNarrow:
		return wide && match(strings.ReplaceAll(p.text, string(anyText), string(anyWords)), words)
	}
	return match(p.text, words)
}

// literal returns the words of the pattern if it has no star.
func (p *wordPattern) literal() (string, bool) {
	return p.text, !p.all && !strings.ContainsAny(p.text, "\x01\x02")
}

// starred returns a pattern for one text in which each star stands for any text.
func starred(text string) glob { return glob(strings.ReplaceAll(text, "*", string(anyWords))) }

type glob string

func (g glob) match(text string) bool { return match(string(g), text) }

// match reports whether a pattern matches a whole text. It goes back to the last anyText in the
// same word, and then to the last anyWords: earlier ones can match nothing that these cannot.
func match(pattern, text string) bool {
	pi, ti := 0, 0
	wide, wideAt, narrow, narrowAt := -1, 0, -1, 0
	for ti < len(text) {
		switch {
		case pi < len(pattern) && pattern[pi] == anyWords:
			wide, wideAt, narrow = pi, ti, -1
			if pi++; pi == len(pattern) {
				return true
			}
		case pi < len(pattern) && pattern[pi] == anyText:
			narrow, narrowAt = pi, ti
			pi++
		case pi < len(pattern) && pattern[pi] == text[ti]:
			pi++
			ti++
		case narrow >= 0 && text[narrowAt] != between:
			narrowAt++
			pi, ti = narrow+1, narrowAt
		case wide >= 0:
			wideAt++
			pi, ti, narrow = wide+1, wideAt, -1
		default:
			return false
		}
	}
	for pi < len(pattern) && (pattern[pi] == anyWords || pattern[pi] == anyText) {
		pi++
	}
	return pi == len(pattern)
}
