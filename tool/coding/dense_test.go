package coding

import (
	"strings"
	"testing"
)

// Of a line that a program has written, and of what notebooks have as the result of a cell, the
// beginning and the length are read.
func TestU9_ReadFileOfMachines(t *testing.T) {
	b := newFixture(t)
	script := strings.Repeat("function a(b,c){return b+c}", 400)
	prose := strings.Repeat("A paragraph is one line in many texts. ", 400)
	picture := "iVBORw0KGgo" + strings.Repeat("AbC1", 5000)
	chinese := strings.Repeat("每个自然段都是一行，中间没有空格。", 200)
	b.put("zh.md", chinese+"\n")
	b.put("min.js", script+"\nsecond\n")
	b.put("prose.md", prose+"\n")
	b.put("n.ipynb", "{\n  \"image/png\": \""+picture+"\"\n}\n")
	for name, want := range map[string][]string{
		"min.js": {"  1 | " + script[:shownOfDense] + " [... the line goes on for 8800 more bytes; a program seems",
			"  2 | second\n"},
		"prose.md": {prose},
		"zh.md":    {chinese},
		"n.ipynb": {`  2 |   "image/png": "` + picture[:100] +
			"[... 19911 more bytes of base64 (image/png)]\"\n  3 | }\n"},
	} {
		for _, got := range []string{
			b.ok(ReadFile(), object{"file_path": name}), b.ok(ReadManyFiles(), object{"paths": []string{name}}),
		} {
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("%s: %.3000q", name, got)
				}
			}
		}
	}
}
