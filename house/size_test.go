package house_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

const sizesPage = "docs/size.md"

var (
	sizeRow   = regexp.MustCompile("(?m)^\\| [0-9,]+ \\| (`.*`) \\| (.*) \\|$")
	sizeOfAll = regexp.MustCompile(`(?m)^All of it: [0-9,]+\.$`)
)

// TestT12_Sizes compares the sizes in docs/size.md with the code, or writes them there.
func TestT12_Sizes(t *testing.T) {
	data, err := os.ReadFile(sizesPage)
	if err != nil {
		t.Fatal(err)
	}
	rowOf, rows := map[string]int{}, sizeRow.FindAllStringSubmatch(string(data), -1)
	for i, row := range rows {
		for _, dir := range strings.Split(row[1], ", ") {
			dir = strings.Trim(dir, "`")
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("%s: %v", sizesPage, err)
			}
			if _, twice := rowOf[dir]; twice {
				t.Errorf("%s: %s is there twice", sizesPage, dir)
			}
			rowOf[dir] = i
		}
	}
	sizes, sum := make([]int, len(rows)), 0
	for _, name := range sourceFiles(t) {
		dir := path.Dir(name)
		for i, ok := rowOf[dir]; ; i, ok = rowOf[dir] {
			if ok {
				lines := linesOfCode(t, name)
				sizes[i] += lines
				sum += lines
				break
			}
			if dir = path.Dir(dir); dir == "." {
				t.Fatalf("%s: no row has the directory of %s", sizesPage, name)
			}
		}
	}
	i := -1
	want := sizeRow.ReplaceAllStringFunc(string(data), func(row string) string {
		i++
		return fmt.Sprintf("| %s | %s | %s |", hundreds(sizes[i]), rows[i][1], rows[i][2])
	})
	want = sizeOfAll.ReplaceAllString(want, "All of it: "+hundreds(sum)+".")
	switch {
	case want == string(data):
	case *update:
		if err := os.WriteFile(sizesPage, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("%s is not what the code has; write it with: (cd house && go test -count=1 . -run T12 -update)\n%s",
			sizesPage, want)
	}
}

// sourceFiles returns the names of the tracked files of code, without tests.
func sourceFiles(t *testing.T) (names []string) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "*.go", "*.js", "*.css").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains("/"+name, "/testdata/") {
			names = append(names, name)
		}
	}
	return names
}

// linesOfCode counts the lines of a file that are neither blank nor comments.
func linesOfCode(t *testing.T, name string) (n int) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	comment := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case comment:
			comment = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "/*"):
			comment = !strings.Contains(line, "*/")
		case line != "" && !strings.HasPrefix(line, "//"):
			n++
		}
	}
	return n
}

// hundreds returns a number rounded up to hundreds, with a comma between thousands.
func hundreds(n int) string {
	n = (n + 99) / 100 * 100
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
