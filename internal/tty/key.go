package tty

import (
	"bytes"
	"unicode/utf8"
)

// Key holds what a person has pressed, typed or pasted.
type Key struct {
	Code Code
	Text string // of KeyText and KeyPaste
}

// Code says which key it is.
type Code uint8

// The keys that a program can act on. All others are dropped.
const (
	KeyText    Code = iota // characters
	KeyPaste               // a pasted text, with \n at the ends of its lines
	KeyEnter               // Enter
	KeyNewline             // Alt-Enter, Shift-Enter where the terminal tells it apart, Ctrl-J
	KeyTab
	KeyBackTab // Shift-Tab
	KeyBackspace
	KeyDelete
	KeyLeft
	KeyRight
	KeyUp
	KeyDown
	KeyHome
	KeyEnd
	KeyWordLeft
	KeyWordRight
	KeyCutWord     // Ctrl-W, Alt-Backspace
	KeyCutNextWord // Alt-D
	KeyCutStart    // Ctrl-U
	KeyCutEnd      // Ctrl-K
	KeyInsertCut   // Ctrl-Y
	KeyRedraw      // Ctrl-L
	KeyInterrupt   // Ctrl-C
	KeyEOF         // Ctrl-D
	KeySuspend     // Ctrl-Z
	KeySearch      // Ctrl-R
	KeyOpen        // Ctrl-O
	KeyEscape
	KeyTooLong // a paste of more than maxPaste bytes, which is dropped
)

// maxPaste limits the bytes of a paste.
const maxPaste = 8 << 20

// maxSequence limits the bytes of an escape sequence. A longer one is dropped.
const maxSequence = 64

// Decoder turns what a terminal sends into keys. The zero value is ready.
type Decoder struct {
	rest    []byte // the beginning of a sequence or of a character
	paste   []byte
	pasting bool
	stale   bool // the paste is to be dropped
	tooLong bool
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// Decode returns the keys in a piece of input. The beginning of a sequence waits for the rest.
func (d *Decoder) Decode(piece []byte) (keys []Key) {
	in := append(d.rest, piece...)
	d.rest = nil
	for len(in) > 0 {
		if d.pasting {
			n, key, done := d.pasted(in)
			if in = in[n:]; done {
				if key != (Key{}) {
					keys = append(keys, key)
				}
				continue
			}
			d.rest = bytes.Clone(in)
			return keys
		}
		key, n := decode(in)
		switch {
		case n == 0:
			d.rest = bytes.Clone(in)
			return keys
		case bytes.HasPrefix(in, pasteBegin):
			d.pasting = true
		case key.Code == KeyText && key.Text == "": // nothing to act on
		default:
			keys = join(keys, key)
		}
		in = in[n:]
	}
	return keys
}

// join appends a key. Characters that follow each other become one text.
func join(keys []Key, key Key) []Key {
	if n := len(keys); key.Code == KeyText && n > 0 && keys[n-1].Code == KeyText {
		keys[n-1].Text += key.Text
		return keys
	}
	return append(keys, key)
}

// Waiting reports whether the beginning of a sequence is pending. A person who pressed Escape sends
// no more than that.
func (d *Decoder) Waiting() bool { return len(d.rest) > 0 && !d.pasting }

// Flush returns the key for a pending beginning of a sequence, after a moment without input.
func (d *Decoder) Flush() []Key {
	if !d.Waiting() {
		return nil
	}
	was := d.rest
	d.rest = nil
	if was[0] == esc {
		return []Key{{Code: KeyEscape}}
	}
	return nil // an incomplete character
}

// Discard drops what has come so far. A paste that has begun is dropped up to its end.
func (d *Decoder) Discard() {
	switch {
	case d.pasting:
		d.stale, d.paste = true, nil
	case !bytes.HasPrefix(pasteBegin, d.rest):
		d.rest = nil
	}
}

// pasted reads a pasted text up to its end, or up to what may be the beginning of its end. It
// returns how many bytes it has read and, when it is done, the key.
func (d *Decoder) pasted(in []byte) (n int, key Key, done bool) {
	end := bytes.Index(in, pasteEnd)
	if end < 0 {
		keep := min(len(in), len(pasteEnd)-1)
		for keep > 0 && !bytes.HasPrefix(pasteEnd, in[len(in)-keep:]) {
			keep--
		}
		d.add(in[:len(in)-keep])
		return len(in) - keep, Key{}, false
	}
	d.add(in[:end])
	text := bytes.ReplaceAll(bytes.ReplaceAll(d.paste, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	key = Key{Code: KeyPaste, Text: string(bytes.ToValidUTF8(text, []byte("\ufffd")))}
	switch {
	case d.stale:
		key = Key{} // nothing to act on
	case d.tooLong:
		key = Key{Code: KeyTooLong}
	}
	d.paste, d.pasting, d.tooLong, d.stale = nil, false, false, false
	return end + len(pasteEnd), key, true
}

// add keeps a piece of a paste.
func (d *Decoder) add(piece []byte) {
	if d.stale {
		return
	}
	if d.tooLong = d.tooLong || len(d.paste)+len(piece) > maxPaste; d.tooLong {
		d.paste = nil
		return
	}
	d.paste = append(d.paste, piece...)
}

const esc = 0x1b

// decode returns the first key of the input and its length, which is 0 if more input is needed. A
// key without code and text is to be ignored.
func decode(in []byte) (Key, int) {
	switch c := in[0]; {
	case c == esc:
		return sequence(in)
	case c < 0x20 || c == 0x7f:
		return control(c), 1
	case c < utf8.RuneSelf:
		return Key{Text: string(rune(c))}, 1
	}
	if !utf8.FullRune(in) {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(in)
	if r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
		return Key{}, n
	}
	return Key{Text: string(in[:n])}, n
}

// control returns the key of a control character.
func control(c byte) Key {
	codes := [...]Code{1: KeyHome, 2: KeyLeft, 3: KeyInterrupt, 4: KeyEOF, 5: KeyEnd, 6: KeyRight, 8: KeyBackspace,
		9: KeyTab, 10: KeyNewline,
		11: KeyCutEnd, 12: KeyRedraw, 13: KeyEnter, 14: KeyDown, 15: KeyOpen, 16: KeyUp, 18: KeySearch, 21: KeyCutStart,
		23: KeyCutWord, 25: KeyInsertCut, 26: KeySuspend, 31: 0}
	if c == 0x7f {
		return Key{Code: KeyBackspace}
	}
	return Key{Code: codes[c]}
}

// sequence returns the key of an escape sequence.
func sequence(in []byte) (Key, int) {
	if len(in) == 1 {
		return Key{}, 0
	}
	switch in[1] {
	case '[':
		return csi(in)
	case 'O':
		if len(in) < 3 {
			return Key{}, 0
		}
		return Key{Code: finals[in[2]]}, 3
	case esc: // Escape twice
		return Key{Code: KeyEscape}, 1
	case ']', 'P', '_', '^', 'X': // an answer to another program's query
		return skipString(in)
	}
	alt := map[byte]Code{'\r': KeyNewline, '\n': KeyNewline, 0x7f: KeyCutWord, 8: KeyCutWord, 'b': KeyWordLeft,
		'f': KeyWordRight, 'd': KeyCutNextWord}
	if code, ok := alt[in[1]]; ok {
		return Key{Code: code}, 2
	}
	if !utf8.FullRune(in[1:]) {
		return Key{}, 0
	}
	_, n := utf8.DecodeRune(in[1:])
	return Key{}, 1 + n
}

// skipString returns an empty key for a string that a terminal sends, up to BEL or ST.
func skipString(in []byte) (Key, int) {
	for i := 2; i < len(in); i++ {
		switch {
		case in[i] == 7:
			return Key{}, i + 1
		case in[i] == esc && i+1 < len(in) && in[i+1] == '\\':
			return Key{}, i + 2
		case i > 4096:
			return Key{}, i
		}
	}
	return Key{}, 0
}

// finals holds the keys by the last character of their sequence.
var finals = [256]Code{'A': KeyUp, 'B': KeyDown, 'C': KeyRight, 'D': KeyLeft, 'H': KeyHome, 'F': KeyEnd,
	'Z': KeyBackTab, 'M': KeyEnter}

// csi returns the key of a sequence that begins with ESC [.
func csi(in []byte) (Key, int) {
	end := 2
	for end < len(in) && (in[end] < 0x40 || in[end] > 0x7e) {
		if in[end] < 0x20 || end > maxSequence { // broken off by something else
			return Key{}, end
		}
		end++
	}
	if end == len(in) {
		return Key{}, 0
	}
	first, modifier := parameters(in[2:end])
	code := finals[in[end]]
	switch in[end] {
	case '~':
		code = map[int]Code{1: KeyHome, 3: KeyDelete, 4: KeyEnd, 7: KeyHome, 8: KeyEnd}[first]
		if first == 27 { // modifyOtherKeys, of a terminal that has it on
			return Key{}, end + 1
		}
	case 'u':
		return kitty(first, modifier), end + 1
	case 'M':
		code = 0
	}
	if modifier > 1 && code == KeyLeft {
		code = KeyWordLeft
	}
	if modifier > 1 && code == KeyRight {
		code = KeyWordRight
	}
	return Key{Code: code}, end + 1
}

// kitty returns the key of a sequence that has its character as a number, as some terminals send
// for Shift-Enter.
func kitty(r, modifier int) Key {
	const ctrl = 4
	switch {
	case r == '\r' && modifier > 1:
		return Key{Code: KeyNewline}
	case r == '\t' && modifier == 2:
		return Key{Code: KeyBackTab}
	case r == esc:
		return Key{Code: KeyEscape}
	case modifier > 1 && (modifier-1)&ctrl != 0 && r >= 'a' && r <= 'z':
		return control(byte(r - 'a' + 1))
	case modifier <= 1 && r > 0 && r < 0x20 || r == 0x7f:
		return control(byte(r))
	}
	return Key{}
}

// parameters returns the first two numbers of a sequence.
func parameters(p []byte) (first, second int) {
	numbers := [2]int{}
	at := 0
	for _, c := range p {
		switch {
		case c == ';':
			at++
		case at < len(numbers) && c >= '0' && c <= '9' && numbers[at] < 1<<20:
			numbers[at] = numbers[at]*10 + int(c-'0')
		}
	}
	return numbers[0], numbers[1]
}
