package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fuzzy"
	"github.com/attractor-go/attractor/internal/textfile"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	snippetContext  = 3 // lines shown before and after an edit
	maxSnippetLines = 40
	maxLineNumbers  = 10 // the most line numbers that a result names
)

type editFileArgs struct {
	FilePath   string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	OldString  string `json:"old_string" jsonschema:"The text to replace, exactly as it is in the file, with its indentation and without the line numbers that read_file shows. It must occur once, unless replace_all is true: include enough lines around the place."`
	NewString  string `json:"new_string" jsonschema:"The text to put in its place. Empty to delete."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence of old_string. Default: false."`
}

// EditFile returns the tool edit_file, which replaces text in a file.
func EditFile() tool.Tool { return Dialect{}.EditFile() }

// EditFile returns the tool edit_file.
func (d Dialect) EditFile() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "edit_file",
		Description: "Replaces text in a file. Read the file before you edit it. The file keeps its line endings and " +
			"its mode.",
		Parameters: schema("edit_file"),
	}, d.editFile)
	t.Instead, t.Previews = replaces("edit_file"), true
	t.Limit = tool.Limit{Chars: 10_000, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args editFileArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Paths: []string{cleanPath(args.FilePath)}}
	})
}

func (d Dialect) editFile(ctx context.Context, call *tool.Call, args editFileArgs) (tool.Result, error) {
	e := edit{old: args.OldString, new: args.NewString, all: args.ReplaceAll}
	if err := d.check(e); err != nil {
		return tool.Result{}, err
	}
	args.FilePath = call.Named(args.FilePath)
	var made Edited
	result, err := change(ctx, call, args.FilePath, func() (to decision, err error) {
		content, err := d.readWhole(ctx, call.Env, args.FilePath)
		if err != nil {
			return to, err
		}
		to.was = contentOf(call, []byte(content))
		text, marked := strings.CutPrefix(content, textfile.BOM)
		one := e.withoutMark(text)
		if err := d.check(one); err != nil {
			return to, err
		}
		if to.data, made, err = d.edited(one, args.FilePath, text); marked {
			to.data = append([]byte(textfile.BOM), to.data...)
		}
		return to, err
	})
	if err != nil {
		return tool.Result{}, err
	}
	tell := d.Edited
	if tell == nil {
		tell = Edited.String
	}
	say(&result, tell(made))
	return result, nil
}

// withoutMark returns the edit without byte-order marks, which belong to the file and not to its
// text, unless the text has such a mark.
func (e edit) withoutMark(text string) edit {
	if !strings.HasPrefix(e.old, textfile.BOM) || !strings.Contains(text, e.old) {
		e.old, e.new = strings.TrimPrefix(e.old, textfile.BOM), strings.TrimPrefix(e.new, textfile.BOM)
	}
	return e
}

// edited returns a file's content after an edit, and a description of the edit.
func (d Dialect) edited(e edit, name, content string) (edited []byte, made Edited, err error) {
	if isUTF16([]byte(content[:min(len(content), 2)])) {
		return nil, made, fmt.Errorf("%s %s", texts.Shown(name), textfile.RefusalUTF16(name))
	}
	m := e.match(content)
	switch {
	case len(m.places) > maxPlaces:
		return nil, made, fmt.Errorf("old_string occurs in %s more than %d times; nothing was changed. Give a longer "+
			"old_string, or change the file with %s, for example with sed", texts.Shown(name), maxPlaces,
			d.word("shell"))
	case len(m.places) == 0:
		return nil, made, fmt.Errorf("old_string was not found in %s; nothing was changed.%s", texts.Shown(name),
			d.explainNoMatch(content, e))
	case len(m.places) > 1 && !e.all:
		return nil, made, d.notUnique(texts.Shown(name), content, m)
	}
	if sizeAfter(content, m.places) > maxWholeBytes {
		return nil, made, fmt.Errorf("with this edit %s would be %w (at %d places); nothing was changed. "+
			"Give a shorter new_string, or write the file with %s", texts.Shown(name), errTooLarge, len(m.places),
			d.word("shell"))
	}
	if err := refuseForeign(name, content, m.places); err != nil {
		return nil, made, err
	}
	edited, placed := e.apply(content, m.places)
	made = Edited{Name: texts.Shown(name), Count: len(placed), Lines: lineNumbers(edited, placed),
		Beside: m.how + m.note}
	if len(placed) == 1 {
		made.Snippet = d.snippet(edited, placed[0])
	}
	return edited, made, nil
}

// refuseForeign returns an error if the content is not UTF-8, and the places put text beyond ASCII
// into it or may begin inside of a character.
func refuseForeign(name, content string, places []place) error {
	if utf8.ValidString(content) {
		return nil
	}
	for _, p := range places {
		if textfile.MayBeInside(content, p.start) {
			return fmt.Errorf("%s is not UTF-8, and old_string may begin in the middle of a character of its "+
				"encoding; nothing was changed. Begin old_string at another place, such as at the beginning of the "+
				"line or after a space",
				texts.Shown(name))
		}
		if char := textfile.ForeignIn(p.text, content[p.start:p.end]); char != "" {
			return fmt.Errorf("%s %s", texts.Shown(name), textfile.Refusal(name, char))
		}
	}
	return nil
}

// notUnique reports every match of an ambiguous old_string.
func (d Dialect) notUnique(name, content string, m matchResult) error {
	places := lineNumbers([]byte(content), m.spans())
	if m.how != "" {
		return fmt.Errorf("old_string is not in %s exactly; except for %s, it occurs %d times (%s); nothing was "+
			"changed. Copy the text exactly, with more of the lines around the place that you mean", name, m.how,
			len(m.places), places)
	}
	return fmt.Errorf("old_string occurs in %s %d times (%s); nothing was changed. Include more of the lines around "+
		"the place that you mean, or set %s to change them all", name, len(m.places), places,
		d.word("edit_file.replace_all"))
}

// check returns an error for an edit that has no meaning.
func (d Dialect) check(e edit) error {
	switch {
	case e.old == "":
		return fmt.Errorf("old_string is empty; give the text to replace. To insert text, replace a line with itself "+
			"and the new text; to create a file, use %s", d.word("write_file"))
	case e.old == e.new:
		return errors.New("old_string and new_string are the same, so there is nothing to change; give the " +
			"replacement in new_string")
	case toLF(e.old) == toLF(e.new):
		return fmt.Errorf("old_string and new_string differ only in line endings, which %s does not change; to "+
			"change them, use %s", d.word("edit_file"), d.word("shell"))
	}
	return nil
}

// readWhole returns the content of a file that is to be edited.
func (d Dialect) readWhole(ctx context.Context, e env.Environment, name string) (string, error) {
	content, err := readWhole(ctx, e, name)
	switch {
	case errors.Is(err, errTooLarge):
		return "", fmt.Errorf("%s is %w; change it with %s, for example with sed", texts.Shown(name), err,
			d.word("shell"))
	case err != nil:
		return "", d.explainOpen(ctx, e, name, err)
	}
	return content, nil
}

// lineNumbers returns the numbers of the lines in which spans start.
func lineNumbers(content []byte, spans []span) string {
	var numbers []string
	line, at, last := 1, 0, 0
	for _, s := range spans {
		line += bytes.Count(content[at:s.start], []byte("\n"))
		at = s.start
		if line == last {
			continue
		}
		if len(numbers) == maxLineNumbers {
			numbers = append(numbers, "...")
			break
		}
		numbers = append(numbers, strconv.Itoa(line))
		last = line
	}
	if len(numbers) == 1 {
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers, ", ")
}

// snippet returns a part of a content with the lines around it.
func (d Dialect) snippet(content []byte, s span) string {
	from, to := s.start, s.end
	for range snippetContext + 1 { // one more, for the start of the line itself
		from = bytes.LastIndexByte(content[:max(from, 0)], '\n')
	}
	for range snippetContext + 1 {
		if end := bytes.IndexByte(content[to:], '\n'); end >= 0 {
			to += end + 1
		} else {
			to = len(content)
		}
	}
	first := bytes.Count(content[:from+1], []byte("\n")) + 1
	lines := strings.Split(strings.TrimSuffix(toLF(string(content[from+1:to])), "\n"), "\n")
	if len(lines) <= maxSnippetLines {
		return d.number(fuzzy.Shortened(lines), first)
	}
	const half = maxSnippetLines / 2
	return d.number(fuzzy.Shortened(lines[:half]), first) + "...\n" + d.number(fuzzy.Shortened(lines[len(lines)-half:]),
		first+len(lines)-half)
}
