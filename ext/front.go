package ext

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// The limits of front matter.
const (
	maxFront    = 64 << 10 // bytes
	maxFields   = 100
	maxMistakes = 20
	maxShown    = 40 // bytes of a name or a value in a mistake
)

// Front holds the front matter of a Markdown file, and the text after it. Methods that return a
// field note the mistakes in it. A field that no method has asked for is unknown.
type Front struct {
	// Body is the text after the front matter, cleaned by sanitize.Text.
	Body string
	// BodyLine is the number of the first line of the body.
	BodyLine int

	file     string
	fields   []*field
	asked    []string // the names of the supported fields
	mistakes []Mistake
	refused  bool // the file cannot be used
}

// field is a field of front matter.
type field struct {
	name  string
	line  int
	node  *yaml.Node // nil if the value is text that is not YAML
	raw   string     // the value as it is written
	known bool
}

// ParseFront reads the front matter of a file: YAML between two lines of three hyphens at its
// beginning. A field whose value is not valid YAML, such as a description with a colon, is read as
// text. A file without front matter is all body.
func ParseFront(f File) *Front {
	p := &Front{file: f.Name, BodyLine: 1}
	if len(f.Data) > MaxFile {
		p.refuse(0, "the file has more than %d KiB, so it is not used", MaxFile>>10)
		return p
	}
	if bytes.IndexByte(f.Data, 0) >= 0 { // also UTF-16 has such bytes
		p.refuse(0, "the file has NUL bytes, so it is not used: save it as UTF-8 text")
		return p
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(f.Data, []byte("\ufeff"))), "\r\n", "\n")
	if !utf8.ValidString(text) {
		p.Mistake(0, "the file is not UTF-8 text")
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	front, body, line := p.split(text)
	p.Body = sanitize.Text(body)
	p.BodyLine = line + 1 + strings.Count(front, "\n") + 1
	if line == 0 {
		p.BodyLine = 1
		return p
	}
	if len(front) > maxFront {
		p.Mistake(line, "the front matter has more than %d KiB, so it is not used", maxFront>>10)
		return p
	}
	p.parse(front, line+1)
	return p
}

// split returns the front matter, the text after it, and the number of the line that begins the
// front matter, or 0.
func (p *Front) split(text string) (front, body string, line int) {
	rest := text
	for line = 1; ; line++ {
		first, after, more := strings.Cut(rest, "\n")
		if fence := strings.TrimRight(first, " \t"); fence != "" || !more {
			if fence != "---" || !more {
				return "", text, 0
			}
			rest = after
			break
		}
		rest = after
	}
	for at := 0; at < len(rest); {
		end := strings.IndexByte(rest[at:], '\n')
		next := at + end + 1
		if end < 0 {
			next = len(rest)
		}
		if strings.TrimRight(rest[at:next], " \t\n") == "---" {
			return rest[:at], rest[next:], line
		}
		at = next
	}
	p.Mistake(line, "the front matter has no end: a line of three hyphens (---)")
	return "", text, 0
}

// parse reads the fields of front matter that begins at a line.
func (p *Front) parse(front string, line int) {
	chunks := p.chunks(front, line)
	if fields, err := parseYAML(front); err == nil {
		for _, f := range fields[:min(len(fields), maxFields+1)] {
			f.line += line - 1
			i := slices.IndexFunc(chunks, func(c chunk) bool { return c.line == f.line })
			if i >= 0 {
				f.raw = chunks[i].value()
			}
			p.add(f)
		}
		return
	}
	for _, c := range chunks[:min(len(chunks), maxFields+1)] {
		f := &field{name: c.name, line: c.line, raw: c.value()}
		if own, err := parseYAML(c.text); err == nil && len(own) == 1 {
			f.node = own[0].node
		} else if c.meantAsYAML() {
			p.Mistake(c.line, "the value of %s is not valid YAML (%s), so it is read as it is written", shown(c.name),
				why(err))
		}
		p.add(f)
	}
}

// add adds a field. The first of several with a name counts.
func (p *Front) add(f *field) {
	if len(p.fields) == maxFields {
		p.Mistake(f.line, "there are more than %d fields; the others are not used", maxFields)
		return
	}
	if p.find(f.name) != nil {
		p.Mistake(f.line, "there is a second %s, which is not used", shown(f.name))
		return
	}
	p.fields = append(p.fields, f)
}

// parseYAML returns the fields of a YAML mapping.
func parseYAML(text string) (fields []*field, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("it is no list of fields such as name: value")
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("a name of a field is no text")
		}
		fields = append(fields, &field{name: key.Value, line: key.Line, node: top.Content[i+1]})
	}
	return fields, nil
}

// why returns the text of an error of the YAML parser without its prefix and line, which is that of
// a part.
func why(err error) string {
	if err == nil {
		return "it has several fields"
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if after, found := strings.CutPrefix(text, "line "); found {
		if _, reason, found := strings.Cut(after, ": "); found {
			text = reason
		}
	}
	return sanitize.Line(text)
}

// chunk is a field as it is written, with the lines that continue it.
type chunk struct {
	name, text string
	line       int
}

// meantAsYAML reports whether a value that is not valid YAML was not meant as plain text.
func (c *chunk) meantAsYAML() bool {
	value := c.value()
	if value == "" || strings.Count(value, "[") != strings.Count(value, "]") {
		return true
	}
	return value[0] == '"' || value[0] == '\'' || strings.ContainsAny(value[:1], "|>") &&
		strings.Contains(strings.TrimSpace(c.text), "\n")
}

// value returns the text after the name and the colon, on one line.
func (c *chunk) value() string {
	_, value, _ := strings.Cut(c.text, ":")
	return oneLine(value)
}

// chunks divides front matter that begins at a line into fields, by their names at the beginnings
// of lines.
func (p *Front) chunks(front string, line int) (list []chunk) {
	var lines []string // of the last field
	end := func() {
		if len(list) > 0 {
			list[len(list)-1].text = strings.Join(lines, "")
		}
		lines = nil
	}
	for text := range strings.Lines(front) {
		name, _, colon := strings.Cut(text, ":")
		isName := colon && isFieldName(name) && strings.Trim(text[len(name)+1:][:1], " \t\n") == ""
		switch {
		case isName:
			end()
			list = append(list, chunk{name: strings.TrimRight(name, " \t"), line: line})
			lines = append(lines, text)
		case strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#"):
			lines = append(lines, "\n")
		default:
			lines = append(lines, text)
		}
		line++
	}
	end()
	return list
}

// isFieldName reports whether text at the beginning of a line may be the name of a field.
func isFieldName(s string) bool {
	s = strings.TrimRight(s, " \t")
	return s != "" && len(s) <= maxShown && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// find returns the field of a name, or nil.
func (p *Front) find(name string) *field {
	i := slices.IndexFunc(p.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return p.fields[i]
}

// ask returns the field of a name, or nil, and notes that the name is supported.
func (p *Front) ask(name string) *field {
	if !slices.Contains(p.asked, name) {
		p.asked = append(p.asked, name)
	}
	f := p.find(name)
	if f != nil {
		f.known = true
	}
	return f
}

// Line returns the number of the line of a field, or that of the beginning of the file.
func (p *Front) Line(name string) int {
	if f := p.find(name); f != nil {
		return f.line
	}
	return 1
}

// Mistake notes a mistake in a line, or with 0 in the whole file.
func (p *Front) Mistake(line int, format string, args ...any) {
	m := Mistake{p.file, line, fmt.Sprintf(format, args...)}
	if len(p.mistakes) < maxMistakes && !slices.Contains(p.mistakes, m) {
		p.mistakes = append(p.mistakes, m)
	}
}

// refuse notes why the file cannot be used. Mistakes reports that however many other mistakes there
// are.
func (p *Front) refuse(line int, format string, args ...any) {
	p.refused = true
	p.mistakes = append(p.mistakes, Mistake{p.file, line, fmt.Sprintf(format, args...)})
}

// Unsupported notes a mistake for each of these fields of another program, which has no effect
// here. The reason follows the field's name.
func (p *Front) Unsupported(reason string, fields ...string) {
	for _, name := range fields {
		if f := p.find(name); f != nil && !f.known {
			f.known = true
			p.Mistake(f.line, "%s has no effect: %s", name, reason)
		}
	}
}

// Mistakes returns the mistakes in the order of their lines. The last is about the fields that no
// method has asked for.
func (p *Front) Mistakes() []Mistake {
	all := slices.Clone(p.mistakes)
	var unknown []string
	line := 0
	for _, f := range p.fields {
		if !f.known {
			unknown = append(unknown, shown(f.name))
			line = cmp.Or(line, f.line)
		}
	}
	slices.SortStableFunc(all, func(a, b Mistake) int { return a.Line - b.Line })
	if n := len(unknown); n > 0 {
		if n > 5 {
			unknown = append(unknown[:5], fmt.Sprintf("%d more", n-5))
		}
		supported := ""
		if len(p.asked) > 0 {
			supported = "; the supported fields are " + strings.Join(p.asked, ", ")
		}
		all = append(all, Mistake{p.file, line, "unknown fields have no effect: " + strings.Join(unknown,
			", ") + supported})
	}
	return all
}

// shown returns a name or a value for a mistake.
func shown(s string) string { return texts.Shown(texts.Cut(s, maxShown, "...")) }
