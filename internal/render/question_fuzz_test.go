package render

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// FuzzQuestion shows questions about arbitrary calls. Nothing in them acts on a terminal, every
// line of the call's own text is indented, so that it cannot pass for the program's, and the
// command is complete.
func FuzzQuestion(f *testing.F) {
	f.Add("shell", "ls\nAsked because it is safe.", `{"command":"ls","x":["\u202e"]}`, "/w/a\nb", "Bash(x)\n  y  yes")
	f.Add("edit_file", "", `{"old_string":"a\nb","new_string":"\u001b[2J","file_path":"f"}`, "", "")
	f.Add("apply_patch", "", "*** Begin Patch\r\n\x1b]0;x\a", "", "")
	f.Add("x", "", `{"a":{"b":[1,2]},"a`, "", "")
	f.Add("shell", "l\u03d0s\xef\n\u0430", "", "", "")
	f.Fuzz(func(t *testing.T, name, command, args, path, rule string) {
		q := permit.Question{Request: tool.Request{Call: llm.ToolCall{Name: name, Args: args},
			Access: tool.Access{Command: command}}, Reason: path, Rule: rule, CommandDir: path,
			Links: []permit.Link{{Path: path, Target: path}}, Reasons: []string{path, rule},
			Touches: []rules.Touched{{Path: path, Why: rule}}}
		text := Question(q) + Choices(permit.Question{Allow: []string{rule}, Project: "/w"})
		if clean := sanitize.Text(text); clean != text {
			t.Errorf("the terminal gets %q", text)
		}
		for line := range strings.Lines(Question(q)) {
			ours := strings.HasPrefix(line, "  ")
			for _, prefix := range []string{"The agent ", "In the directory ", "Asked because ", "Asked because:",
				"The rule is ", "Careful, some characters only look like others: ", OneLine(path) + " leads to ",
				"It uses ", "All of this is one call, "} {
				ours = ours || strings.HasPrefix(line, prefix)
			}
			if !ours {
				t.Errorf("the line %q looks like the program's", line)
			}
		}
		for word := range strings.FieldsSeq(sanitize.Text(command)) {
			if !strings.Contains(text, sanitize.Blanks(word)) {
				t.Errorf("the word %q of the command is missing", word)
			}
		}
		for _, width := range []int{20, 79} {
			rows := InRows(Question(q), width)
			if strings.ReplaceAll(rows, "\n"+foldMark, "") != strings.ReplaceAll(Question(q), "\n"+foldMark, "") {
				t.Errorf("another text in %d columns: %q", width, rows)
			}
			for row := range strings.Lines(rows) {
				if row = strings.TrimSuffix(row, "\n"); !strings.Contains(row, "\t") && Width(row) > max(width, 26) {
					t.Errorf("a row of %d columns: %q", Width(row), row)
				}
			}
		}
	})
}
