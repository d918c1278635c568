package house_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The widest lines, in columns, of which a tab is four.
const (
	widestCode    = 120
	widestComment = 100
)

// aligned matches what is between a key and its value.
var aligned = regexp.MustCompile(`([^ ]) {2,}`)

// TestT12_Columns finds lines that are too wide. Those with a raw string, which stands as it is, do
// not count, nor do code and output in comments.
func TestT12_Columns(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains("/"+name, "/testdata/") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		raw, isOutput, n := rawLines(data), false, 0
		for line := range strings.Lines(string(data)) {
			n++
			line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
			comment := strings.TrimSpace(line)
			if !strings.HasPrefix(comment, "//") { // gofmt puts values below each other
				line = line[:len(line)-len(comment)] + aligned.ReplaceAllString(comment, "$1 ")
			}
			if isComment := strings.HasPrefix(comment, "//"); !isComment {
				isOutput = false
				if utf8.RuneCountInString(line) > widestCode && !raw[n] {
					t.Errorf("%s:%d is wider than %d columns", name, n, widestCode)
				}
				continue
			}
			isOutput = isOutput || strings.HasSuffix(comment, "utput:") || strings.HasPrefix(comment, "// Output:")
			isCode := strings.HasPrefix(comment, "//  ") || strings.HasPrefix(comment, "//go:")
			oneWord := strings.Count(comment, " ") < 2 // such as an address
			if utf8.RuneCountInString(line) > widestComment && !raw[n] && !isOutput && !isCode && !oneWord {
				t.Errorf("%s:%d is wider than %d columns", name, n, widestComment)
			}
		}
	}
}

// rawLines returns which lines of a file have a part of a raw string.
func rawLines(data []byte) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, 0)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.STRING && text[0] == '`' {
			first := file.Line(at)
			last := first + bytes.Count(data[file.Offset(at):file.Offset(at)+rawLength(data[file.Offset(at):])],
				[]byte("\n"))
			for line := first; line <= last; line++ {
				lines[line] = true
			}
		}
	}
}

// rawLength returns the length of the raw string at the beginning of a text, which may have returns
// that its value does not have.
func rawLength(data []byte) int { return bytes.IndexByte(data[1:], '`') + 2 }
