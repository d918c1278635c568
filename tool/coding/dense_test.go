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
		"min.js": {"  1 | " + script[:shownOfDense-len("fu")] +
			" [... the line goes on for 8802 more bytes; a program seems", "  2 | second\n"},
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

// Where a long line is cut, no token is: a part of a secret is not recognized as one.
func TestL7_TokensAreNotCut(t *testing.T) {
	b := newFixture(t)
	const token = "Zq81kfoPw2mX77aQLLpp90zz"
	pair := `"k":"v",`
	script := func(before int) string {
		return strings.Repeat(" ", before%len(pair)) + strings.Repeat(pair, before/len(pair)) + `"` + token + `",` +
			strings.Repeat(pair, 1000)
	}
	prose := strings.Repeat("x ", maxLineBytes/2-5) + token + strings.Repeat(" x", 1000)
	b.put("prose", prose+"\n")
	if got := b.ok(ReadFile(), object{"file_path": "prose"}); strings.Contains(got, token[:3]) {
		t.Errorf("read_file shows %q", got[len(got)-200:])
	}
	for _, back := range []int{2, 10, len(token)} {
		b.put("f", script(shownOfDense-back)+"\n")
		if got := b.ok(ReadFile(), object{"file_path": "f"}); strings.Contains(got, token[:2]) {
			t.Errorf("read_file shows %q", got[len(got)-200:])
		}
		b.put("g", "begin"+script(1000-len("begin")-back)+"\n")
		if got := b.ok(Grep(), object{"pattern": "begin", "output_mode": "content"}); strings.Contains(got, token[:2]) {
			t.Errorf("grep shows %q", got)
		}
	}
	before := strings.Repeat(pair, 1000) + `"` + token + `",` + strings.Repeat(".,", 94)
	b.put("g", before+"needle"+script(5000)+"\n")
	if got := b.ok(Grep(), object{"pattern": "needle", "output_mode": "content"}); strings.Contains(got, token[20:]) ||
		!strings.Contains(got, "needle") {
		t.Errorf("grep shows %q", got)
	}
	b.put("g", strings.Repeat(pair, 1000)+"needle at_the_end\n")
	if got := b.ok(Grep(), object{"pattern": "needle", "output_mode": "content"}); !strings.Contains(got,
		"needle at_the_end\n") {
		t.Errorf("of the end of a line, grep shows %q", got)
	}
	b.put("g", strings.Repeat("a", 5000)+token+strings.Repeat("b", 5000)+"\n")
	if got := b.ok(Grep(), object{"pattern": "a*Zq81", "output_mode": "content"}); len(got) < 500 {
		t.Errorf("of a line without ends of tokens, grep shows %q", got)
	}
}
