package render

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Width returns how many columns a text takes, which has one line and is clean.
func Width(text string) int { return displaywidth.String(text) }

// Fit returns a line cut to at most columns, with … at its end if something is missing.
func Fit(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	return displaywidth.TruncateString(line, columns, "…")
}

// sgr returns the sequences that switch a look on.
func (l look) sgr() string {
	seq := ""
	for _, one := range [...]struct {
		look look
		sgr  string
	}{{strong, bold}, {emphasis, italic}, {link, underline}, {struck, crossed}, {code, cyan}, {faint, dim},
		{good, green}, {bad, red}} {
		if l&one.look != 0 {
			seq += "\x1b[" + one.sgr + "m"
		}
	}
	return seq
}

// wrapper breaks pieces of text into lines.
type wrapper struct {
	colour bool
	width  int // of a line without its prefix

	lines []string
	line  strings.Builder
	at    int  // columns of the line
	look  look // with which the line ends now

	word      []piece // since the last place where a line may break
	wordWidth int
	space     []piece // between the line and the word
}

// wrap returns the lines of a text of at most width columns, without line ends; a width of 0 means
// no limit. A longer word stays whole, so that it can be copied. Every line switches off what it
// has switched on.
func (s Style) wrap(text []piece, width int) []string {
	w := &wrapper{colour: s.Colour, width: width}
	if width <= 0 {
		w.width = 1 << 30
	}
	for _, p := range text {
		w.add(p)
	}
	w.commit()
	w.end()
	return w.lines
}

// Wrap returns the lines of a text, which is clean, at the style's width. It has no emphasis.
func (s Style) Wrap(text string) []string { return s.wrap([]piece{{text: text}}, s.Width) }

// Tail returns the last lines of a text that is not finished, wrapped as by [Style.Wrap].
func (s Style) Tail(text string, most int) []string {
	const maxBytes = 4 << 10 // that are looked at
	if cut := len(text) - maxBytes; cut > 0 {
		text = strings.ToValidUTF8(text[cut:], "")
	}
	lines := s.Wrap(text)
	return lines[max(len(lines)-most, 0):]
}

// add adds a piece of text.
func (w *wrapper) add(p piece) {
	for p.text != "" {
		switch n := strings.IndexAny(p.text, " \t\n"); {
		case n < 0:
			w.letters(p)
			return
		case n > 0:
			w.letters(piece{p.text[:n], p.look})
			p.text = p.text[n:]
		default:
			w.commit()
			if p.text[0] == '\n' {
				w.end()
				w.space = w.space[:0]
			} else if w.at > 0 || p.look&code != 0 {
				w.space = append(w.space, piece{" ", p.look})
			}
			p.text = p.text[1:]
		}
	}
}

// letters adds a text without space. A line may break around wide characters, such as those of
// Chinese.
func (w *wrapper) letters(p piece) {
	from, at := 0, 0
	for g := displaywidth.StringGraphemes(p.text); g.Next(); {
		width := g.Width()
		if width > 1 {
			w.pushWord(p.text[from:at], p.look)
			w.commit()
			from = at
		}
		at += len(g.Value())
		w.wordWidth += width
		if width > 1 {
			w.pushWord(p.text[from:at], p.look)
			w.commit()
			from = at
		}
	}
	w.pushWord(p.text[from:], p.look)
}

func (w *wrapper) pushWord(text string, look look) {
	if text != "" {
		w.word = append(w.word, piece{text, look})
	}
}

// commit puts the word on the line, or on the next one.
func (w *wrapper) commit() {
	if len(w.word) == 0 {
		return
	}
	if w.at > 0 && w.at+len(w.space)+w.wordWidth > w.width {
		w.end()
	} else {
		for _, p := range w.space {
			w.write(p)
		}
		w.at += len(w.space)
	}
	for _, p := range w.word {
		w.write(p)
	}
	w.at += w.wordWidth
	w.word, w.wordWidth, w.space = w.word[:0], 0, w.space[:0]
}

// write appends to the line.
func (w *wrapper) write(p piece) {
	if w.colour && p.look != w.look {
		if w.look != 0 {
			w.line.WriteString(reset)
		}
		w.line.WriteString(p.look.sgr())
		w.look = p.look
	}
	w.line.WriteString(p.text)
}

// end ends the line.
func (w *wrapper) end() {
	if w.look != 0 {
		w.line.WriteString(reset)
		w.look = 0
	}
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.at = 0
	w.space = w.space[:0]
}
