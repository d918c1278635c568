package ext

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// The limits of the specification of skills.
const (
	maxName        = 64
	maxDescription = 1024
)

// Skill holds a skill: instructions for a kind of task, and a directory with the files that they
// use.
type Skill struct {
	Name        string
	Description string // one line
	// Hint says which arguments a person can give.
	Hint string
	// ForModel and ForUser report who may use the skill: the model, with the tool of [SkillTool],
	// and a person by /name.
	ForModel, ForUser bool
	// AllowedTools are the tools that the skill's author expects it to use, by Claude Code's names
	// until a host replaces them by those of its session. They permit nothing.
	AllowedTools []string
	Body         string

	// File is the path of SKILL.md for people, and Dir that of the directory for tools and
	// commands. Dir may be empty.
	File, Dir string
	Origin    Origin

	names []string // of the arguments
}

// ParseSkill reads the SKILL.md of a skill. The name is that of its directory, which is also the
// skill's. It returns nil if the skill cannot be used.
func ParseSkill(f File, name string) (*Skill, []Mistake) {
	p := ParseFront(f)
	if p.refused {
		return nil, p.Mistakes()
	}
	s := &Skill{Name: name, File: f.Name, Origin: f.Origin, Body: strings.TrimSpace(p.Body)}
	if !usableName(name) {
		p.refuse(0, "the skill is not used, because its directory's name has other characters than a-z, 0-9 and -, "+
			"has more than %d, or begins with mcp__", maxName)
		return nil, p.Mistakes()
	}
	p.checkName(name)
	s.Description = p.description(s.Body)
	s.Hint = oneLine(p.Text("argument-hint"))
	s.ForModel = !p.Bool("disable-model-invocation", false)
	s.ForUser = p.Bool("user-invocable", true)
	s.names = p.argumentNames()
	s.AllowedTools = p.Words("allowed-tools")
	p.Text("license")
	p.Text("compatibility")
	p.Map("metadata")
	p.Unsupported("a skill does not change the session's model", "model", "effort")
	p.Unsupported("skills are read by the session's own agent", "context", "agent")
	p.Unsupported("write hooks into .claude/settings.json", "hooks")
	p.Unsupported("the skill is listed whatever files are in use", "paths")
	p.Unsupported("write a rule that denies them (attractor rules --help)", "disallowed-tools")
	p.Unsupported("commands run with the shell of the session", "shell")
	p.Unsupported("rules and the person at the terminal decide about calls", "permissionMode", "permission-mode",
		"tools")
	p.ignore("version", "author", "category", "tags")
	if s.Body == "" {
		p.Mistake(0, "the skill has no text behind its front matter")
	}
	if s.ForModel {
		p.noteCommands()
	}
	return s, p.Mistakes()
}

// usableName reports whether a name can be that of a skill. It allows more than the specification,
// as others do. A person calls prompts of MCP servers by names that begin with mcp__.
func usableName(name string) bool {
	odd := func(r rune) bool { return !isNameRune(r) && (r < 'A' || r > 'Z') && r != '_' && r != '.' }
	return name != "" && len(name) <= maxName && !strings.HasPrefix(name, "mcp__") && !strings.ContainsFunc(name, odd)
}

// isNameRune reports whether the specification allows a character in a name.
func isNameRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }

// checkName notes what is wrong with the name of a skill in a directory of another name, or with
// that name.
func (p *Front) checkName(dir string) {
	given := p.Text("name")
	switch {
	case given != "" && given != dir:
		p.Mistake(p.Line("name"), "the name %s is not that of the directory, so the skill is called %s", shown(given),
			dir)
	case strings.ContainsFunc(dir, func(r rune) bool { return !isNameRune(r) }) || strings.Trim(dir, "-") != dir:
		p.Mistake(0, "other programs may refuse the name %s: the specification allows a-z, 0-9 and - between them", dir)
	}
}

// description returns the description on one line, or without one the first paragraph of the body.
func (p *Front) description(body string) string {
	text := oneLine(p.Text("description"))
	if more := oneLine(p.Text("when_to_use")); more != "" {
		text = strings.TrimSpace(text + " " + more)
	}
	if text == "" {
		p.Mistake(1, "the skill has no description, so the model reads its first paragraph instead")
		text = firstParagraph(body)
	}
	if n := utf8.RuneCountInString(text); n > maxDescription {
		p.Mistake(p.Line("description"), "the description has %d characters, of which the model reads %d", n,
			maxDescription)
	}
	return cut(text, maxDescription)
}

// firstParagraph returns the first paragraph of Markdown, without headings, on one line.
func firstParagraph(body string) string {
	var paragraph []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch {
		case line != "" && !strings.HasPrefix(line, "#"):
			paragraph = append(paragraph, line)
		case len(paragraph) > 0:
			return oneLine(strings.Join(paragraph, " "))
		}
	}
	return oneLine(strings.Join(paragraph, " "))
}

// noteCommands notes a mistake for the first command of the body that Claude Code would run.
func (p *Front) noteCommands() {
	line := p.BodyLine
	for text := range strings.Lines(p.Body) {
		if text = strings.TrimSpace(text); strings.HasPrefix(text, "!`") || strings.Contains(text, " !`") {
			p.Mistake(line, "a command such as !`ls` runs only if a person uses the skill; a model that loads it "+
				"reads the command")
			return
		}
		line++
	}
}

// Text returns what a model reads when it loads the skill: its files, which are looked for in Dir,
// and its body as it is written.
func (s *Skill) Text() string {
	return s.text(s.files())
}

// Fill returns the prompt for a person who uses the skill with arguments, which have the same
// places in it as in a command. Without arguments, only $ARGUMENTS is filled in, because the body
// may show scripts with places such as $1. The caller runs the commands.
func (s *Skill) Fill(args string) ([]Piece, error) {
	args = strings.TrimSpace(sanitize.Text(args))
	a := &arguments{text: args, words: texts.Words(args), names: s.names}
	body := parseTemplate(s.Body + "\n")
	if err := s.place(body); err != nil {
		return nil, err
	}
	for i := range body {
		switch p := &body[i]; {
		case p.Kind == PieceFile: // models read files of skills themselves
			*p = Piece{Kind: PieceText, Text: p.Written}
		case p.Kind == PieceText && args == "":
			p.Text = strings.ReplaceAll(p.Text, "$ARGUMENTS", "")
		}
	}
	if err := body.check(); err != nil {
		return nil, err
	}
	var err error
	head := Piece{Kind: PieceText, Text: s.head(s.files())}
	if args != "" {
		body, err = body.fill(a)
		return append([]Piece{head}, body...), err
	}
	pieces := []Piece{head}
	for _, p := range body {
		filled := []Piece{p}
		if p.Kind == PieceShell {
			if filled, err = (template{p}).fill(a); err != nil {
				return nil, err
			}
		}
		pieces = append(pieces, filled...)
	}
	return pieces, nil
}

// dirName is the variable that stands for the skill's directory.
const dirName = "CLAUDE_SKILL_DIR"

// inDir returns a text with the skill's directory in its place.
func (s *Skill) inDir(text string) string {
	return strings.ReplaceAll(text, "${"+dirName+"}", cmp.Or(s.Dir, "."))
}

// place puts the skill's directory into its places. In commands it is one word, whatever characters
// it has.
func (s *Skill) place(body template) (err error) {
	for i := range body {
		p := &body[i]
		p.Written = s.inDir(p.Written)
		if p.Kind != PieceShell {
			p.Text = s.inDir(p.Text)
			continue
		}
		if !strings.Contains(p.Text, dirName) {
			continue
		}
		dir := word(cmp.Or(s.Dir, "."))
		value := func(name string) (script.Value, bool) { return dir, name == dirName }
		if p.Text, err = script.Fill(p.Text, value); err != nil {
			return fmt.Errorf("%s cannot be run in the directory %s: %w", p.Written, texts.Shown(s.Dir), err)
		}
	}
	return nil
}

// text returns what a model reads of the skill.
func (s *Skill) text(f files) string {
	return s.head(f) + s.inDir(s.Body) + "\n"
}

// head returns what the reader of a skill has to know.
func (s *Skill) head(f files) string {
	var b strings.Builder
	fmt.Fprintf(&b, "These are the instructions of the skill %s.\n", s.Name)
	if s.Dir != "" {
		fmt.Fprintf(&b, "File names in them are relative to its directory: %s\n", texts.Shown(s.Dir))
	}
	if len(s.AllowedTools) > 0 {
		fmt.Fprintf(&b, "Its author expects it to use these tools: %s. That permits nothing: calls are decided about "+
			"as always.\n", cut(strings.Join(s.AllowedTools, ", "), maxDescription))
	}
	var shown []string
	for _, name := range f.list {
		shown = append(shown, texts.Shown(name))
	}
	if shown != nil {
		fmt.Fprintf(&b, "Its files: %s\n", strings.Join(shown, ", "))
	}
	for _, note := range f.notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	return b.String() + "\n"
}

// oneLine returns text without line breaks and double spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// cut returns at most n characters of text, and says if it left some out.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:max(0, n-3)])) + "..."
}
