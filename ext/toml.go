package ext

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// parseTOMLCommand reads a command of gemini-cli: a prompt with {{args}}, !{command} and @{path},
// and a description.
func parseTOMLCommand(f File, name string) (*Command, []Mistake) {
	var mistakes []Mistake
	add := func(line int, format string, args ...any) {
		mistakes = append(mistakes, Mistake{f.Name, line, fmt.Sprintf(format, args...)})
	}
	if len(f.Data) > MaxFile {
		add(0, "the file has more than %d KiB, so it is not used", MaxFile>>10)
		return nil, mistakes
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(f.Data, []byte("\ufeff"))), "\r\n", "\n")
	values, line, err := tomlStrings(text)
	if err != nil {
		add(line, "%v, so there is no command /%s; the supported form is a name, = and a string in each line, for prompt and description", err, name)
		return nil, mistakes
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "prompt" && key != "description" && len(mistakes) < maxMistakes {
			add(0, "%s is unknown and has no effect; the supported names are prompt and description", shown(key))
		}
	}
	prompt := strings.TrimSpace(sanitize.Text(strings.ToValidUTF8(values["prompt"], "\ufffd")))
	if prompt == "" {
		add(0, "there is no prompt in it, so there is no command /%s", name)
		return nil, mistakes
	}
	c := &Command{Name: name, File: f.Name, Origin: f.Origin,
		Description: strings.TrimSpace(sanitize.Text(values["description"])), style: oneWord}
	if c.prompt, err = parseBraces(prompt + "\n"); err == nil {
		err = c.prompt.check()
	}
	if err != nil {
		add(0, "%v, so there is no command /%s", err, name)
		return nil, mistakes
	}
	if c.Description == "" {
		c.Description = firstLine(prompt)
	}
	return c, mistakes
}

// parseBraces finds the commands and files in a prompt of gemini-cli.
func parseBraces(text string) (template, error) {
	p := &templateParser{}
	from := 0
	for i := 0; i+1 < len(text); i++ {
		if open := text[i : i+2]; open != "!{" && open != "@{" {
			continue
		}
		inside, ok := braced(text[i+2:])
		if !ok {
			return nil, fmt.Errorf("%s has no closing brace", shown(strings.TrimSpace(text[i:])))
		}
		p.text(text[from:i])
		from = i + 2 + len(inside) + 1
		piece := Piece{PieceFile, strings.TrimSpace(inside), text[i:from]}
		if text[i] == '!' {
			piece.Kind, piece.Text = PieceShell, argsForm().ReplaceAllString(piece.Text, "$${ARGUMENTS}")
		}
		p.add(piece)
		i = from - 1
	}
	p.text(text[from:])
	return p.flush(), nil
}

// braced returns the text up to the brace that closes it. Braces inside come in pairs.
func braced(text string) (inside string, ok bool) {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], true
			}
		}
	}
	return "", false
}

var argsForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{\s*args\s*\}\}`) })

var tomlKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:([A-Za-z0-9_-]+)|"([^"\\\n]*)"|'([^'\n]*)')[ \t]*=[ \t]*`)
})

// tomlStrings reads TOML in which all values are strings. The line is that of the error.
func tomlStrings(text string) (values map[string]string, line int, err error) {
	values, line = map[string]string{}, 1
	for counted, rest := text, text; ; {
		rest = strings.TrimLeft(rest, " \t\n")
		line += strings.Count(counted[:len(counted)-len(rest)], "\n")
		counted = rest
		if rest == "" {
			return values, 0, nil
		}
		if rest[0] == '#' {
			rest = rest[len(firstOf(rest, "\n")):]
			continue
		}
		m := tomlKey().FindStringSubmatch(rest)
		if m == nil {
			return nil, line, fmt.Errorf("%s is no name with a value", shown(firstOf(rest, "\n")))
		}
		key := m[1] + m[2] + m[3]
		if _, twice := values[key]; twice {
			return nil, line, fmt.Errorf("%s is there twice", shown(key))
		}
		value, length, err := tomlString(rest[len(m[0]):])
		if err != nil {
			return nil, line, fmt.Errorf("the value of %s: %w", shown(key), err)
		}
		values[key], rest = value, rest[len(m[0])+length:]
		end := firstOf(rest, "\n")
		if after := strings.TrimSpace(end); after != "" && after[0] != '#' {
			return nil, line, fmt.Errorf("%s stands after the value of %s", shown(after), shown(key))
		}
		rest = rest[len(end):]
	}
}

// firstOf returns the text before a separator, or all of it.
func firstOf(text, separator string) string {
	before, _, _ := strings.Cut(text, separator)
	return before
}

// tomlString reads the string with which a text begins and returns its length there.
func tomlString(text string) (value string, length int, err error) {
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		inside, found := strings.CutPrefix(text, quote)
		if !found {
			continue
		}
		end := tomlEnd(inside, quote)
		if end < 0 || len(quote) == 1 && strings.Contains(inside[:end], "\n") {
			return "", 0, fmt.Errorf("the string has no end")
		}
		value, length = inside[:end], end+2*len(quote)
		if len(quote) == 3 {
			value = strings.TrimPrefix(value, "\n")
		}
		if quote[0] == '"' {
			value, err = tomlUnescape(value)
		}
		return value, length, err
	}
	return "", 0, fmt.Errorf("it is no string")
}

// tomlEnd returns where a string ends, or -1. Up to two quotes before the three that end it belong
// to it.
func tomlEnd(text, quote string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(text[i:], quote):
			for len(quote) == 3 && strings.HasPrefix(text[i+1:], quote) {
				i++
			}
			return i
		}
	}
	return -1
}

// tomlUnescape replaces the escape sequences of a string.
func tomlUnescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			return "", fmt.Errorf("it ends with a backslash")
		}
		digits := 0
		switch c := text[i]; c {
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case 'x':
			digits = 2
		default:
			if at := strings.IndexByte(`"\btnfre`, c); at >= 0 {
				b.WriteByte("\"\\\b\t\n\f\r\x1b"[at])
				continue
			}
			after := strings.TrimLeft(text[i:], " \t")
			if !strings.HasPrefix(after, "\n") {
				return "", fmt.Errorf(`\%c is no escape sequence`, c)
			}
			i = len(text) - len(strings.TrimLeft(after, " \t\n")) - 1 // the line goes on
			continue
		}
		if len(text) < i+1+digits {
			return "", fmt.Errorf("an escape sequence has no end")
		}
		code, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(code)) {
			return "", fmt.Errorf(`\%c%s is no character`, text[i], text[i+1:i+1+digits])
		}
		b.WriteRune(rune(code))
		i += digits
	}
	return b.String(), nil
}
