package render

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// look holds how a piece of text looks.
type look uint8

const (
	strong look = 1 << iota
	emphasis
	struck
	code
	link
	faint
)

// piece holds text of one look. A line end in it is a line end on the screen.
type piece struct {
	text string
	look look
}

// token holds a piece of a text while its emphasis is not known yet.
type token struct {
	text string
	look look // its own
	// How many stretches of strong, emphasis and struck end before it, and begin after it.
	ends, begins [3]int32
	links        int32 // how many links begin, less those that end
}

// delimiter holds a run of * or _ or ~ that may begin or end emphasis.
type delimiter struct {
	token       int // has the characters that are left
	char        byte
	length      int // as written, for the rule of three
	left        int
	open, close bool
	prev, next  int // other delimiters, -1 at the ends
}

// bracket holds a [ that may begin a link.
type bracket struct {
	token     int
	image     bool
	delimiter int // the last one before it, -1 for none
	after     int // where its text begins
}

// inlineParser parses the text of a paragraph: CommonMark's emphasis, code spans, links, autolinks, escapes and entities, and GitHub's ~~.
// HTML and references stay as they are written. It takes linear time.
type inlineParser struct {
	text       string
	at         int
	tokens     []token
	delimiters []delimiter
	last       int // delimiter
	brackets   []bracket
	dead       int         // brackets below this one begin images only, because a link contains no link
	ticks      map[int]int // where the last run of so many backticks begins
	plain      int         // where the text begins that is not a token yet
}

// inline returns the pieces of a paragraph's text, which is clean.
func inline(text string) []piece {
	p := &inlineParser{text: text, last: -1}
	for p.at < len(text) {
		p.step()
	}
	p.flush(len(text))
	p.emphasize(-1)
	return p.pieces()
}

// flush makes the plain text before an offset a token.
func (p *inlineParser) flush(end int) {
	if end > p.plain {
		p.tokens = append(p.tokens, token{text: p.text[p.plain:end]})
	}
	p.plain = end
}

// put ends the plain text and adds a token that stands for the text up to an offset.
func (p *inlineParser) put(text string, look look, end int) {
	p.flush(p.at)
	p.tokens = append(p.tokens, token{text: text, look: look})
	p.at, p.plain = end, end
}

// step parses what begins at p.at.
func (p *inlineParser) step() {
	switch c := p.text[p.at]; c {
	case '\\':
		p.escape()
	case '`':
		p.codeSpan()
	case '*', '_', '~':
		p.delimit(c)
	case '!':
		if strings.HasPrefix(p.text[p.at:], "![") {
			p.open(2)
			return
		}
		p.at++
	case '[':
		p.open(1)
	case ']':
		p.closeBracket()
	case '<':
		p.angle()
	case '&':
		p.entity()
	default:
		next := strings.IndexAny(p.text[p.at+1:], "\\`*_~![]<&")
		if next < 0 {
			next = len(p.text) - p.at - 1
		}
		p.at += 1 + next
	}
}

func (p *inlineParser) escape() {
	if p.at+1 < len(p.text) && (isPunct(p.text[p.at+1]) || p.text[p.at+1] == '\n') {
		p.put(p.text[p.at+1:p.at+2], 0, p.at+2)
		return
	}
	p.at++
}

// isPunct reports whether a byte is ASCII punctuation, which a backslash escapes.
func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// codeSpan parses a code span, or takes its backticks as text.
func (p *inlineParser) codeSpan() {
	n := runOf(p.text[p.at:], '`')
	if p.ticks == nil {
		p.ticks = map[int]int{}
		for i := 0; i < len(p.text); {
			if run := runOf(p.text[i:], '`'); run > 0 {
				p.ticks[run] = i
				i += run
			} else if next := strings.IndexByte(p.text[i:], '`'); next >= 0 {
				i += next
			} else {
				break
			}
		}
	}
	if p.ticks[n] <= p.at { // no run of as many follows
		p.at += n
		return
	}
	for i := p.at + n; i < len(p.text); {
		next := strings.IndexByte(p.text[i:], '`')
		if next < 0 {
			break
		}
		i += next
		run := runOf(p.text[i:], '`')
		if run == n {
			p.put(codeText(p.text[p.at+n:i]), code, i+n)
			return
		}
		i += run
	}
	p.at += n
}

// codeText returns the text of a code span without the spaces that keep it away from its backticks.
func codeText(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.Trim(text, " ") != "" {
		text = text[1 : len(text)-1]
	}
	return text
}

// runOf returns how often a byte is repeated at the beginning of a text.
func runOf(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// delimit adds a run of delimiters.
func (p *inlineParser) delimit(c byte) {
	n := runOf(p.text[p.at:], c)
	if c == '~' && n != 2 {
		p.at += n
		return
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:p.at])
	after, _ := utf8.DecodeRuneInString(p.text[p.at+n:])
	spaceBefore, spaceAfter := p.at == 0 || unicode.IsSpace(before), p.at+n == len(p.text) || unicode.IsSpace(after)
	punctBefore, punctAfter := isMark(before), isMark(after)
	left := !spaceAfter && (!punctAfter || spaceBefore || punctBefore)
	right := !spaceBefore && (!punctBefore || spaceAfter || punctAfter)
	d := delimiter{char: c, length: n, left: n, open: left, close: right, prev: p.last, next: -1}
	if c == '_' {
		d.open, d.close = left && (!right || punctBefore), right && (!left || punctAfter)
	}
	p.put(p.text[p.at:p.at+n], 0, p.at+n)
	if !d.open && !d.close {
		return
	}
	d.token = len(p.tokens) - 1
	p.delimiters = append(p.delimiters, d)
	if p.last >= 0 {
		p.delimiters[p.last].next = len(p.delimiters) - 1
	}
	p.last = len(p.delimiters) - 1
}

// isMark reports whether a character counts as punctuation for emphasis.
func isMark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// open adds a bracket.
func (p *inlineParser) open(n int) {
	p.put(p.text[p.at:p.at+n], 0, p.at+n)
	p.dead = min(p.dead, len(p.brackets))
	p.brackets = append(p.brackets, bracket{token: len(p.tokens) - 1, image: n == 2, delimiter: p.last, after: p.at})
}

// closeBracket makes a link of what stands in brackets, if a destination follows.
func (p *inlineParser) closeBracket() {
	if len(p.brackets) == 0 {
		p.at++
		return
	}
	b := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	if len(p.brackets) < p.dead && !b.image {
		p.at++
		return
	}
	url, end, ok := destination(p.text, p.at+1)
	if !ok {
		p.at++
		return
	}
	label := p.text[b.after:p.at]
	p.flush(p.at)
	p.emphasize(b.delimiter)
	p.tokens[b.token].text = ""
	p.tokens[b.token].links++
	p.tokens = append(p.tokens, token{links: -1})
	p.at, p.plain = end, end
	if url = sanitize.Text(html.UnescapeString(url)); url != "" && url != label {
		p.tokens = append(p.tokens, token{text: " (" + url + ")", look: faint})
	}
	if !b.image {
		p.dead = len(p.brackets)
	}
}

// maxDestination limits the bytes of a link's destination and title, so that looking for their end takes little time.
const maxDestination = 2000

// destination parses the destination of an inline link at an offset, and an optional title.
func destination(text string, at int) (url string, end int, ok bool) {
	if at >= len(text) || text[at] != '(' {
		return "", 0, false
	}
	from := at + 1
	text = text[:min(len(text), from+maxDestination)]
	i := skipSpace(text, from)
	if i < len(text) && text[i] == '<' {
		n := strings.IndexAny(text[i+1:], "<>\n")
		if n < 0 || text[i+1+n] != '>' {
			return "", 0, false
		}
		url, i = text[i+1:i+1+n], i+n+2
	} else {
		start, depth := i, 0
	loop:
		for ; i < len(text); i++ {
			switch text[i] {
			case '\\':
				if i+1 < len(text) && isPunct(text[i+1]) {
					i++
				}
			case '(':
				depth++
			case ')':
				if depth == 0 {
					break loop
				}
				depth--
			case ' ', '\n', '\t':
				break loop
			}
		}
		if depth > 0 {
			return "", 0, false
		}
		url = text[start:min(i, len(text))]
	}
	after := skipSpace(text, i)
	if after > i && after < len(text) && text[after] != ')' {
		if after = title(text, after); after < 0 {
			return "", 0, false
		}
		after = skipSpace(text, after)
	}
	if after >= len(text) || text[after] != ')' {
		return "", 0, false
	}
	return unescaped(url), after + 1, true
}

// title returns the offset after a link's title, or -1.
func title(text string, at int) int {
	closing := text[at]
	switch closing {
	case '"', '\'':
	case '(':
		closing = ')'
	default:
		return -1
	}
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case closing:
			return i + 1
		}
	}
	return -1
}

func skipSpace(text string, at int) int {
	for at < len(text) && strings.IndexByte(" \t\n", text[at]) >= 0 {
		at++
	}
	return at
}

// unescaped returns a destination without backslashes before punctuation.
func unescaped(url string) string {
	if !strings.Contains(url, `\`) {
		return url
	}
	var b strings.Builder
	for i := 0; i < len(url); i++ {
		if url[i] == '\\' && i+1 < len(url) && isPunct(url[i+1]) {
			i++
		}
		b.WriteByte(url[i])
	}
	return b.String()
}

// maxTag limits the bytes of an autolink or a tag.
const maxTag = 1000

// angle parses an autolink, or a tag of HTML, which stays as it is.
func (p *inlineParser) angle() {
	rest := p.text[p.at:min(len(p.text), p.at+maxTag)]
	end := strings.IndexByte(rest, '>')
	if end < 2 {
		p.at++
		return
	}
	inner := rest[1:end]
	scheme, _, isURL := strings.Cut(inner, ":")
	isURL = isURL && len(scheme) >= 2 && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-") == ""
	switch {
	case strings.ContainsAny(inner, "< \n\t"):
		p.tag(rest)
	case isURL || strings.IndexByte(inner, '@') > 0 && isLetter(inner[0]):
		p.put(inner, link, p.at+end+1)
	default:
		p.tag(rest)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// tag takes a tag as text, so that nothing in it is emphasis.
func (p *inlineParser) tag(rest string) {
	name := strings.TrimPrefix(rest[1:], "/")
	end := strings.IndexByte(rest, '>')
	after := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
	if !isLetter(name[0]) || strings.IndexByte(" \n\t/>", after[0]) < 0 || strings.IndexByte(rest[1:end], '<') >= 0 {
		p.at++
		return
	}
	p.at += end + 1
}

// entity decodes a reference to a character. What it stands for is text, whatever it is.
func (p *inlineParser) entity() {
	rest := p.text[p.at:min(len(p.text), p.at+40)]
	end := strings.IndexByte(rest, ';')
	if end < 2 {
		p.at++
		return
	}
	decoded := html.UnescapeString(rest[:end+1])
	if decoded == rest[:end+1] || strings.HasSuffix(decoded, ";") && decoded != ";" {
		p.at++
		return
	}
	p.put(OneLine(decoded), 0, p.at+end+1)
}
