package refdocs

import (
	"os"
	"strings"
	"testing"
)

// Page compares a page with the file that has it, or writes the file if update is true. Again is
// the command that makes the file again.
func Page(t testing.TB, file, again, page string, update bool) {
	t.Helper()
	page = "<!-- Generated from the code. To make it again, run: " + again + " -->\n\n" + strings.TrimRight(page,
		"\n") + "\n"
	if update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with: %s", err, again)
	}
	old, now := strings.Split(string(was), "\n"), strings.Split(page, "\n")
	for i := range max(len(old), len(now)) {
		if i >= len(old) || i >= len(now) || old[i] != now[i] {
			t.Errorf("%s is not what the code says, from line %d on; make it again with: %s\nin the file:   %s\nfrom "+
				"the code: %s", file, i+1, again, at(old, i), at(now, i))
			return
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// cell returns a text for a cell of a table: on one line, without what Markdown or HTML would read
// in it.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "[",
		`\[`).Replace(strings.Join(strings.Fields(text), " "))
}

// code returns a text as code in a cell.
func code(text string) string {
	fence := "`"
	if strings.Contains(text, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}
