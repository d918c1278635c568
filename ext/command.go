package ext

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// Command holds a prompt that a person calls by its name, with arguments.
type Command struct {
	// Name is how it is called, without the slash: git:commit for the file git/commit.md.
	Name string
	// Description and Hint say what it does, and which arguments it takes.
	Description, Hint string
	// Model and Effort are those that the command asks for. Empty means the session's.
	Model, Effort string
	// Tools lists the tools that other programs would run without asking. It allows nothing here.
	Tools  []string
	File   string
	Origin Origin

	prompt template
	names  []string // of the arguments
	style  argumentStyle
}

// argumentStyle says how arguments are read.
type argumentStyle uint8

const (
	positional argumentStyle = iota // words in order
	pairs                           // NAME=value for each name in the prompt, as codex has it, else words
	oneWord                         // the text as a whole, which is one word of a script, as gemini-cli has it
)

// MaxCommandName limits the bytes of the name of a command.
const MaxCommandName = 100

var commandName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN_][\pL\pN_.-]*(:[\pL\pN_][\pL\pN_.-]*)*$`) })

// CommandName returns the name of the command in a file, by the file's path below a directory of
// commands. It is empty if the file is not one or if nobody could type the name.
func CommandName(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".md"), ".toml")
	name = strings.ReplaceAll(name, "/", ":")
	if path.Ext(file) != ".md" && path.Ext(file) != ".toml" || len(name) > MaxCommandName ||
		!commandName().MatchString(name) {
		return ""
	}
	return name
}

// ParseCommand reads a command: a Markdown file with front matter or, if its name ends in .toml, a
// file of gemini-cli. name is that of CommandName. It returns nil if the file cannot be used.
func ParseCommand(f File, name string) (*Command, []Mistake) {
	if path.Ext(f.Name) == ".toml" {
		return parseTOMLCommand(f, name)
	}
	p := ParseFront(f)
	if p.refused {
		return nil, p.Mistakes()
	}
	c := &Command{Name: name, File: f.Name, Origin: f.Origin, Description: p.Text("description"),
		Hint: p.Text("argument-hint"), Model: p.Text("model"),
		Effort: p.Text("effort"), Tools: p.Words("allowed-tools"), names: p.argumentNames()}
	p.Unsupported("a command runs in the session itself", "context", "agent", "subtask")
	p.Unsupported("commands run with the shell of the session", "shell")
	p.Unsupported("hooks are configured in settings files", "hooks")
	p.Unsupported("allowed-tools and this allow and forbid nothing here; permission rules do", "disallowed-tools")
	p.ignore("name", "version", "author", "category", "tags", "disable-model-invocation", "user-invocable",
		"when_to_use")
	if strings.TrimSpace(p.Body) == "" {
		p.refuse(0, "there is no prompt in it, so there is no command /%s", name)
		return nil, p.Mistakes()
	}
	c.prompt = parseTemplate(strings.TrimSpace(p.Body) + "\n")
	if c.Description == "" {
		c.Description = firstLine(p.Body)
	}
	if err := c.prompt.check(); err != nil {
		p.refuse(0, "%v, so there is no command /%s", err, name)
		return nil, p.Mistakes()
	}
	return c, p.Mistakes()
}

// argumentNames returns the names of arguments, in their order.
func (p *Front) argumentNames() []string {
	list := p.Words("arguments")
	for _, n := range list {
		if !isName(n) || n == "ARGUMENTS" {
			p.Mistake(p.Line("arguments"),
				"%s cannot be the name of an argument, which begins with a letter and goes on with letters, "+
					"digits and _", shown(n))
		}
	}
	return list
}

// maxPieces limits the commands and files in one prompt.
const maxPieces = 50

// check returns an error for a prompt that runs or reads too much.
func (t template) check() error {
	n := 0
	for _, p := range t {
		if p.Kind != PieceText {
			n++
		}
	}
	if n > maxPieces {
		return fmt.Errorf("it has more than %d shell commands and files", maxPieces)
	}
	return nil
}

// ignore marks fields as known that have no meaning here, so that nobody is told that they are
// unknown.
func (p *Front) ignore(fields ...string) {
	for _, name := range fields {
		if f := p.find(name); f != nil {
			f.known = true
		}
	}
}

// maxFirstLine limits the line of a prompt that takes the place of a description.
const maxFirstLine = 100

// firstLine returns the first line of a prompt that has text.
func firstLine(body string) string {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return texts.Cut(line, maxFirstLine, "...")
		}
	}
	return ""
}

// isName reports whether an argument can have a name.
func isName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') &&
		!strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || !isWord(byte(r)) })
}

var pairName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Z][A-Z0-9_]*)`) })

// ParsePrompt reads a custom prompt of codex: a command whose prompt may have places such as $FILE,
// for arguments FILE=value.
func ParsePrompt(f File, name string) (*Command, []Mistake) {
	c, mistakes := ParseCommand(f, name)
	if c == nil || path.Ext(f.Name) != ".md" {
		return nil, mistakes
	}
	c.style = pairs
	for _, p := range c.prompt {
		for _, m := range pairName().FindAllStringSubmatch(p.Text, -1) {
			if m[1] != "ARGUMENTS" && !slices.Contains(c.names, m[1]) {
				c.names = append(c.names, m[1])
			}
		}
	}
	for i := range c.prompt { // codex runs and includes nothing
		if c.prompt[i].Kind != PieceText {
			c.prompt[i] = Piece{Kind: PieceText, Text: c.prompt[i].Written}
		}
	}
	return c, mistakes
}

// Fill returns the prompt for the arguments that a person has written. What the arguments contain
// is text: no command and no file is looked for in them. The caller runs the commands and reads the
// files.
func (c *Command) Fill(args string) ([]Piece, error) {
	args = strings.TrimSpace(sanitize.Text(args))
	a := &arguments{text: args, words: texts.Words(args), names: c.names, whole: c.style == oneWord}
	if c.style == pairs && len(c.names) > 0 {
		a.named = map[string]string{}
		for _, w := range a.words {
			if name, value, ok := strings.Cut(w, "="); ok && slices.Contains(c.names, name) {
				a.named[name] = value
			}
		}
	}
	return c.prompt.fill(a)
}
