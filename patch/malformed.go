package patch

import (
	"fmt"
	"slices"
	"strings"
)

// noBegin explains a text that does not begin like a patch.
func noBegin(lines []string) string {
	isBegin := func(line string) bool { return strings.TrimSpace(line) == begin }
	switch first := lines[0]; {
	case first == "":
		return "a patch begins with the line " + begin + "; this text is empty"
	case strings.ContainsAny(first[:1], "[{\"") &&
		slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, begin) }):
		return "this is JSON. Write the patch alone, from the line " + begin + " to the line " + end
	case slices.ContainsFunc(lines, isBegin):
		return "leave out what is before the line " + begin
	case unified(lines):
		return "this is a unified diff. Write " + begin + ", then " + updFile +
			" PATH instead of the lines --- and +++, then hunks that begin " +
			"with @@ without line numbers, then " + end
	default:
		return fmt.Sprintf("a patch begins with the line %s, got %.200q", begin, first)
	}
}

// unified reports whether a text is a unified diff.
func unified(lines []string) bool {
	for i, line := range lines {
		if strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- ") && i+1 < len(lines) &&
			strings.HasPrefix(lines[i+1], "+++ ") {
			return true
		}
	}
	return false
}

// noEnd returns the error of a patch whose last line is not its end.
func noEnd(lines []string) *Error {
	for i, line := range lines {
		if strings.TrimRight(line, " \t") == end {
			return &Error{Line: i + 2,
				Text: "leave out what is after the line " + end + ". One patch can hold all operations"}
		}
	}
	return &Error{Line: len(lines), Text: "the patch does not end with the line " + end +
		", so it may be cut off. Nothing was changed; send the whole patch"}
}

// noOperation explains a line that should begin an operation.
func noOperation(line string) string {
	text := fmt.Sprintf("expected %s, got %.200q", operations, line)
	if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "diff --git ") {
		text += ". Write " + updFile + " PATH instead of the lines --- and +++"
	}
	return text
}
