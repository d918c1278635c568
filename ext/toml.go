package ext

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// parseTOMLCommand reads a command of gemini-cli: a prompt with {{args}}, !{command} and @{path},
// and a description.
func parseTOMLCommand(f File, name string) (*Command, []Mistake) {
	values, line, err := parseTOML(f.Data)
	var mistakes []Mistake
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "prompt" && key != "description" && len(mistakes) < maxMistakes {
			mistakes = append(mistakes, Mistake{f.Name, 0, shown(key) +
				" is unknown and has no effect; the supported names are prompt and description"})
		}
	}
	written, _ := values["prompt"].(string)
	description, _ := values["description"].(string)
	prompt := strings.TrimSpace(sanitize.Text(written))
	if err == nil && prompt == "" {
		err = errors.New("there is no prompt in it that is a string")
	}
	c := &Command{Name: name, File: f.Name, Origin: f.Origin, style: oneWord,
		Description: cmp.Or(strings.TrimSpace(sanitize.Text(description)), firstLine(prompt))}
	if err == nil {
		c.prompt, err = parseBraces(prompt + "\n")
	}
	if err == nil {
		err = c.prompt.check()
	}
	if err != nil {
		return nil, append(mistakes, Mistake{f.Name, line, fmt.Sprintf("%v, so there is no command /%s", err, name)})
	}
	return c, mistakes
}

// parseTOML returns the values of a file, or what is wrong with it and in which line.
func parseTOML(data []byte) (values map[string]any, line int, err error) {
	if len(data) > MaxFile {
		return nil, 0, fmt.Errorf("the file has more than %d KiB", MaxFile>>10)
	}
	if line, err := texts.CheckTOML(string(data)); err != nil {
		return nil, line, err
	}
	_, err = toml.Decode(string(data), &values)
	if wrong, ok := errors.AsType[toml.ParseError](err); ok {
		return nil, wrong.Position.Line, errors.New(texts.Shown(wrong.Message))
	}
	return values, 0, err
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
