package shell

import (
	"regexp"
	"strings"
	"testing"
)

// TestL2_Table checks the form of the rows of tables, which are parsed when they are needed.
func TestL2_Table(t *testing.T) {
	form := regexp.MustCompile(
		`^[a-z0-9-]+ \| (files|names|text) \| (-|[A-Za-z0-9@:%]+) \| (-|[A-Za-z0-9=?%-]+( [A-Za-z0-9=?%-]+)*)( \| (single|first( [a-z]+)*|(max|before) [0-9]|why [a-z ,]+|(tree|from|links|words) [A-Za-z-]+( [A-Za-z-]+)*))*$`)
	for _, rows := range []string{table, gitTable, goTable, wrappers} {
		before := ""
		for line := range strings.Lines(rows) {
			line = strings.TrimSuffix(line, "\n")
			if !form.MatchString(line) {
				t.Errorf("the row has another form: %s", line)
			}
			name, _, _ := strings.Cut(line, " ")
			if name <= before {
				t.Errorf("%s is behind %s", name, before)
			}
			before = name
			s, ok := row(rows, name)
			if !ok || s.max == 0 && !strings.Contains(line, "max 0") {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	for _, name := range []string{"", "l", "s", "first", "grep |", "tree always"} {
		if _, ok := specOf(name); ok {
			t.Errorf("%q is in the table", name)
		}
	}
}

// TestL2_LongOptions checks that long options are compared as a whole.
func TestL2_LongOptions(t *testing.T) {
	s := spec{long: "max-count= count color? no-color"}
	for arg, want := range map[string]bool{"--count": true, "--coun": false, "--color": true, "--color=x": true,
		"--count=x": false, "--max-count=1": true, "--no-color": true,
		"--max-count": false, "--": true, "--=": false, "--count color": false, "--count ": false, "--x": false,
		"---count": false} {
		if _, why := s.parse([]string{arg}); (why == "") != want {
			t.Errorf("%q: %q", arg, why)
		}
	}
}
