package acp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/textfile"
)

// An editor's text gets the form of the file, whatever both are: an unchanged text leaves the file
// as it is, and a changed one loses nothing.
func FuzzN1_EditorTexts(f *testing.F) {
	for _, disk := range []string{"", "a", "a\n", "a\r\nb\r\n", "a\r\nb\n", "\ufeffa\r\n", "\n\n", "\r", "a\r\r\n"} {
		for _, text := range []string{"", "a", "b\n", "a\nb", "x\r\ny", "\ufeffb\n", "\n"} {
			f.Add(disk, text)
		}
	}
	f.Fuzz(func(t *testing.T, disk, text string) {
		if strings.Contains(strings.ReplaceAll(disk, "\r\n", "")+"|"+strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return // editors differ in what carriage returns of their own are
		}
		got := asInFile(text, []byte(disk))
		if want := plain(text); plain(string(got)) != want {
			t.Fatalf("%q in a file with %q is %q", text, disk, got)
		}
		if again := asInFile(string(got), []byte(disk)); !bytes.Equal(again, got) {
			t.Fatalf("%q in a file with %q is %q, and %q the second time", text, disk, got, again)
		}
		edited := strings.ReplaceAll(strings.TrimPrefix(disk, textfile.BOM), "\r\n", "\n") // as editors have it
		texts := []string{disk, edited}
		// an editor of lines; a blank last one cannot be told from none
		if lines := strings.TrimSuffix(edited, "\n"); !strings.HasSuffix(lines, "\n") {
			texts = append(texts, lines)
		}
		for _, text := range texts {
			if same := asInFile(text, []byte(disk)); string(same) != disk {
				t.Fatalf("the unchanged file %q, which the editor has as %q, becomes %q", disk, text, same)
			}
		}
	})
}
