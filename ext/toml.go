package ext

import (
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
	var mistakes []Mistake
	add := func(line int, format string, args ...any) {
		mistakes = append(mistakes, Mistake{f.Name, line, fmt.Sprintf(format, args...)})
	}
	if len(f.Data) > MaxFile {
		add(0, "the file has more than %d KiB, so it is not used", MaxFile>>10)
		return nil, mistakes
	}
	if line, err := texts.CheckTOML(string(f.Data)); err != nil {
		add(line, "%v, so there is no command /%s", err, name)
		return nil, mistakes
	}
	var values map[string]any
	wrong := toml.ParseError{}
	_, err := toml.Decode(string(f.Data), &values)
	if errors.As(err, &wrong) {
		add(wrong.Position.Line, "%s, so there is no command /%s", texts.Shown(wrong.Message), name)
		return nil, mistakes
	} else if err != nil {
		add(0, "%v, so there is no command /%s", err, name)
		return nil, mistakes
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "prompt" && key != "description" && len(mistakes) < maxMistakes {
			add(0, "%s is unknown and has no effect; the supported names are prompt and description", shown(key))
		}
	}
	written, _ := values["prompt"].(string)
	description, _ := values["description"].(string)
	prompt := strings.TrimSpace(sanitize.Text(written))
	if prompt == "" {
		add(0, "there is no prompt in it that is a string, so there is no command /%s", name)
		return nil, mistakes
	}
	c := &Command{Name: name, File: f.Name, Origin: f.Origin,
		Description: strings.TrimSpace(sanitize.Text(description)), style: oneWord}
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
