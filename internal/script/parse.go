package script

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/attractor-go/attractor/sanitize"
)

// The limits of scripts that are parsed.
const (
	maxScript   = 64 << 10 // bytes
	maxBrackets = 5000     // each may be a level of nesting, which the parser needs stack for
)

// Parse returns the syntax tree of a script, or an error that says why it cannot be read. A panic
// of the parser becomes an error.
func Parse(text string) (file *syntax.File, err error) {
	if why := unreadable(text); why != "" {
		return nil, errors.New(why)
	}
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the script cannot be parsed: the parser failed: %v", p)
		}
	}()
	file, err = syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if wrong := (syntax.ParseError{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("the script cannot be parsed: line %d: %s", wrong.Pos.Line(), wrong.Text)
	}
	if err != nil {
		return nil, fmt.Errorf("the script cannot be parsed: %w", err)
	}
	return file, nil
}

// unreadable returns why a script is not even parsed: shells and people may read its text
// differently.
func unreadable(text string) string {
	if len(text) > maxScript {
		return fmt.Sprintf("the script has more than %d bytes", maxScript)
	}
	ascii, brackets := true, 0
	for i := range len(text) {
		c := text[i]
		if c == '(' || c == '{' || c == '[' || c == '`' {
			brackets++
		}
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return fmt.Sprintf("the script has the control character %#02x", c)
		}
		ascii = ascii && c < 0x80
	}
	if brackets > maxBrackets {
		return fmt.Sprintf("the script has more than %d brackets", maxBrackets)
	}
	for line := range strings.Lines(text) { // the parser takes the next line for a part of a comment, shells do not
		if strings.HasSuffix(line, "\\\n") && strings.Contains(line, "#") {
			return "a line that may have a comment ends in a backslash"
		}
		if n := len(line); strings.HasSuffix(line, "\\\n") && n > 2 && strings.IndexByte("$<>&|;([{!=~`",
			line[n-3]) >= 0 { // shells join the parts of "$\n(...)"
			return "a line ends in a backslash within an operator or an expansion"
		}
	}
	if ascii {
		return ""
	}
	if sanitize.Text(text) != text {
		return "the script has characters that cannot be seen"
	}
	for _, r := range text {
		if r > 0x7f && (unicode.IsSpace(r) || unicode.Is(unicode.Z, r)) {
			return fmt.Sprintf("the script has %U, which looks like a space", r)
		}
		if r == 0x200d || r == 0xfe0e || r == 0xfe0f {
			return "the script has characters that cannot be seen"
		}
	}
	return ""
}
