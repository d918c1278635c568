package ext

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/script"
)

// Piece holds a part of a prompt.
type Piece struct {
	Kind PieceKind
	// Text is the text itself, a script whose output takes the place of the piece, or the path of a
	// file.
	Text string
	// Written is how a piece that is no text stands in the prompt.
	Written string
}

// PieceKind says what a piece is.
type PieceKind uint8

// The kinds of pieces.
const (
	PieceText PieceKind = iota
	PieceShell
	PieceFile
)

// template holds the pieces of a prompt before arguments are in their places.
type template []Piece

// parseTemplate finds the shell commands and files in a Markdown text: !`command` and a code block
// that begins with ```!, and @path. Files are not looked for in code, where @ means other things.
func parseTemplate(text string) template {
	p := &templateParser{}
	lines := slices.Collect(strings.Lines(text))
	for i := 0; i < len(lines); i++ {
		mark, info := fence(lines[i])
		switch {
		case p.fence != "":
			if closes(lines[i], p.fence) {
				p.fence = ""
			}
			p.inline(lines[i])
		case mark != "" && info == "!":
			end := slices.IndexFunc(lines[i+1:], func(line string) bool { return closes(line, mark) })
			if end < 0 {
				end = len(lines) - i - 1
			}
			last := min(i+1+end, len(lines)-1)
			p.add(Piece{PieceShell, strings.TrimSpace(strings.Join(lines[i+1:i+1+end], "")),
				strings.Join(lines[i:last+1], "")})
			i = last
		default:
			p.fence = mark
			p.inline(lines[i])
		}
	}
	return p.flush()
}

var fenceForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile("^\\s*(`{3,}|~{3,})\\s*([^`]*?)\\s*$") })

// fence returns the mark with which a line begins or ends a code block, and what follows it. It
// returns "" for other lines.
func fence(line string) (mark, info string) {
	if m := fenceForm().FindStringSubmatch(line); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// closes reports whether a line ends the code block that a mark has begun.
func closes(line, mark string) bool {
	end, info := fence(line)
	return strings.HasPrefix(end, mark) && info == ""
}

// templateParser collects pieces.
type templateParser struct {
	pieces  template
	pending strings.Builder // text that is not a piece yet
	fence   string          // the mark of the open code block
}

// add adds a piece that is no text.
func (p *templateParser) add(piece Piece) {
	p.flush()
	p.pieces = append(p.pieces, piece)
}

func (p *templateParser) text(text string) { p.pending.WriteString(text) }

// flush makes a piece of the text.
func (p *templateParser) flush() template {
	if p.pending.Len() > 0 {
		p.pieces = append(p.pieces, Piece{Kind: PieceText, Text: p.pending.String()})
		p.pending.Reset()
	}
	return p.pieces
}

// inline adds the pieces of a line.
func (p *templateParser) inline(line string) {
	from, prev := 0, ' '
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		var piece Piece
		var length int
		switch {
		case r == '!' && opens(prev):
			piece, length = shellAt(line[i:])
		case r == '@' && opens(prev) && p.fence == "":
			piece, length = fileAt(line[i:])
		case r == '`' && p.fence == "":
			size = codeAt(line[i:])
		}
		if length > 0 {
			p.text(line[from:i])
			p.add(piece)
			i += length
			from, prev = i, '`'
			continue
		}
		i += size
		prev = r
	}
	p.text(line[from:])
}

// opens reports whether a command or a file may begin after a character.
func opens(prev rune) bool { return unicode.IsSpace(prev) || strings.ContainsRune(`"'([*>|`, prev) }

// shellAt returns the command with which a text begins and its length, or 0.
func shellAt(text string) (Piece, int) {
	rest, found := strings.CutPrefix(text, "!`")
	end := strings.IndexAny(rest, "`\n")
	if !found || end < 1 || rest[end] == '\n' || strings.TrimSpace(rest[:end]) == "" {
		return Piece{}, 0
	}
	length := end + len("!``")
	return Piece{PieceShell, strings.TrimSpace(rest[:end]), text[:length]}, length
}

// maxFileName limits the bytes of a file's name.
const maxFileName = 4096

// fileAt returns the file with which a text begins and its length, or 0.
func fileAt(text string) (Piece, int) {
	rest := text[1:]
	if quoted, found := strings.CutPrefix(rest, `"`); found {
		end := strings.IndexAny(quoted, "\"\n")
		if end < 1 || quoted[end] == '\n' {
			return Piece{}, 0
		}
		length := end + len(`@""`)
		return Piece{PieceFile, quoted[:end], text[:length]}, length
	}
	follows := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`\"'<>|,;", r) }
	end := strings.IndexFunc(rest, follows)
	if end < 0 {
		end = len(rest)
	}
	if end > maxFileName {
		return Piece{}, 0
	}
	name := strings.TrimRight(rest[:end], ".:!?*)]}") // the end of a sentence, or of what stands in brackets
	if name == "" {
		return Piece{}, 0
	}
	return Piece{PieceFile, name, "@" + name}, len(name) + 1
}

// codeAt returns the length of the code with which a text begins, or of its backquotes if they are
// not closed in the line.
func codeAt(text string) int {
	marks := len(text) - len(strings.TrimLeft(text, "`"))
	for at := marks; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			break
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == marks {
			return at
		}
	}
	return marks
}

// arguments holds what a person has written after the name of a command.
type arguments struct {
	text  string   // as it is written
	words []string // as a shell would divide it
	names []string // of the words, in order
	named map[string]string
	first int  // the number of the first word in $N: 0 or 1
	whole bool // the text is one word of a script
	used  bool
}

var placeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\?\$(ARGUMENTS(?:\[[0-9]{1,4}\])?|[0-9]|[A-Za-z_][A-Za-z0-9_]*)`)
})

// fill returns the pieces with the arguments in their places. Arguments that have no place follow
// at the end.
func (t template) fill(a *arguments) ([]Piece, error) {
	a.first = 1
	for _, p := range t {
		if slices.Contains(placeForm().FindAllString(p.Text, -1), "$0") {
			a.first = 0
		}
	}
	var filled []Piece
	for _, p := range t {
		if p.Kind == PieceShell {
			script, err := script.Fill(p.Text, a.value)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be run with these arguments: %w", p.Written, err)
			}
			a.used = a.used || script != p.Text
			p.Text = script
		} else {
			p.Text, p.Written = a.into(p.Text), a.into(p.Written)
		}
		filled = append(filled, p)
	}
	if !a.used && a.text != "" {
		filled = append(filled, Piece{Kind: PieceText, Text: "\n\nARGUMENTS: " + a.text + "\n"})
	}
	return filled, nil
}

// into returns a text with the arguments in their places.
func (a *arguments) into(text string) string {
	if a.whole {
		return argsForm().ReplaceAllStringFunc(text, func(string) string {
			a.used = true
			return a.text
		})
	}
	var b strings.Builder
	from := 0
	for _, at := range placeForm().FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		v, ok := a.value(name)
		if !ok || !ends(name, text[at[1]:]) {
			continue
		}
		b.WriteString(text[from:at[0]])
		if from = at[1]; text[at[0]] == '\\' { // \$1 stands for $1
			b.WriteString(text[at[0]+1 : at[1]])
			continue
		}
		b.WriteString(v.Text)
		a.used = true
	}
	b.WriteString(text[from:])
	return b.String()
}

// ends reports whether a name of an argument ends where the rest of a text begins: $10 and $1.50
// are no arguments.
func ends(name, rest string) bool {
	if name[0] >= '0' && name[0] <= '9' {
		after := strings.TrimPrefix(rest, ".")
		return after == "" || after[0] < '0' || after[0] > '9'
	}
	return rest == "" || strings.HasSuffix(name, "]") || !isWord(rest[0])
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// value returns the value of an argument, empty if there are fewer words.
func (a *arguments) value(name string) (script.Value, bool) {
	index := -1
	switch {
	case name == "ARGUMENTS":
		v := script.Value{Words: a.words, Text: a.text, Everywhere: true}
		if a.whole {
			v.Words = word(a.text).Words
		}
		return v, true
	case a.whole:
		return script.Value{}, false
	case strings.HasPrefix(name, "ARGUMENTS["):
		if _, err := fmt.Sscanf(name, "ARGUMENTS[%d]", &index); err != nil {
			return script.Value{}, false
		}
	case name[0] >= '0' && name[0] <= '9':
		index = int(name[0]-'0') - a.first
	case a.named != nil:
		text, ok := a.named[name]
		return word(text), ok
	default:
		index = slices.Index(a.names, name)
	}
	switch {
	case index < 0:
		return script.Value{}, false
	case index >= len(a.words):
		return script.Value{}, true
	}
	return word(a.words[index]), true
}

// word returns the value of one word. An empty one does not stand in a script.
func word(text string) script.Value {
	if text == "" {
		return script.Value{}
	}
	return script.Value{Words: []string{text}, Text: text}
}
