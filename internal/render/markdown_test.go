package render

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goldtext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/sanitize"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; to accept it, run go test ./internal/render -update:\n%s", name, diff)
	}
}

// whole renders a text that comes in one piece.
func whole(style Style, text string) string {
	m := NewMarkdown(style)
	return m.Add(text) + m.End()
}

// sgrs matches the colours of this package.
var sgrs = regexp.MustCompile("\x1b\\[[0-9]+m")

// Every form of Markdown at several widths, with the same layout in colour and without.
func TestN3_MarkdownLayout(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{20, 40, 80, 200, 0} {
		plain, coloured := whole(Style{Width: width}, string(text)), whole(Style{Width: width, Colour: true},
			string(text))
		golden(t, fmt.Sprintf("sample_%d.txt", width), plain)
		if width == 80 {
			golden(t, "sample_colour.txt", coloured)
		}
		if bare := sgrs.ReplaceAllString(coloured, ""); bare != plain {
			t.Errorf("at %d columns the layout depends on the colour:\n%s", width, cmp.Diff(plain, bare))
		}
	}
}

// markdownText draws texts that are dense in what means something in Markdown.
func markdownText(rt *rapid.T) string {
	units := []string{"*", "**", "_", "`", "```", "~~~", "[", "](", ")", "![", "<", ">", "> ", "- ", "1. ", "10) ", "#",
		"# ", "|", "|-|-|", "---", "===", "\n", "\n", "\n\n", "  ", "    ",
		"\t", "\\", "&amp;", "&#27;", "<a b='*'>", "<https://x>", "- [x] ", "word", "a", "é", "漢", "👩\u200d💻",
		"e\u0301", "\x1b[31m", "\x1b]0;x\a", "\u202e", "\xff", "\r\n", "\x00"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(units), 0, 60).Draw(rt, "text"), "")
}

// The output does not depend on the pieces in which the text comes, and at each moment it is a
// beginning of the whole.
func TestN3_MarkdownInPieces(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		text := markdownText(rt)
		style := Style{Width: rapid.SampledFrom([]int{0, 1, 20, 80}).Draw(rt, "width"),
			Colour: rapid.Bool().Draw(rt, "colour")}
		want := whole(style, text)
		m, got := NewMarkdown(style), ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "cut")
			got += m.Add(rest[:n])
			rest = rest[n:]
			if !strings.HasPrefix(want, got) || got != "" && !strings.HasSuffix(got, "\n") {
				rt.Fatalf("%q is not a beginning of %q", got, want)
			}
		}
		if got += m.End(); got != want {
			rt.Fatalf("in pieces %q\nin one piece %q", got, want)
		}
	})
}

// A line that is longer than what is held back is broken at the same place, however it comes.
func TestN3_MarkdownLongLine(t *testing.T) {
	text := "# x\n" + strings.Repeat("漢字 word ", maxHeldLine/4) + "\n\n- " + strings.Repeat("é", 3*maxHeldLine) + "\n" +
		strings.Repeat("line\n", maxHeld/2)
	want := whole(Style{Width: 80}, text)
	for _, size := range []int{1, 7, 4096, maxHeldLine, maxHeldLine + 1} {
		m := NewMarkdown(Style{Width: 80})
		var b strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			b.WriteString(m.Add(rest[:n]))
			rest = rest[n:]
			if size < 4096 {
				continue
			}
			if held := len(m.Rest()); held > maxHeldLine+maxHeld+100 {
				t.Fatalf("%d bytes are held back", held)
			}
		}
		if got := b.String() + m.End(); got != want {
			t.Errorf("pieces of %d bytes give another text", size)
		}
	}
	if strings.ContainsRune(want, '\ufffd') {
		t.Error("a character was broken")
	}
}

// FuzzN3_Markdown renders arbitrary texts. Nothing of them acts on a terminal, no text is lost, and
// lines fit if their words do.
func FuzzN3_Markdown(f *testing.F) {
	if text, err := os.ReadFile(filepath.Join("testdata", "sample.md")); err == nil {
		f.Add(string(text), 80)
	}
	f.Add("1. a\n\t- b\n> > c\n|a|b|\n|-|-|\n|&#27;|`\x1b`|", 20)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = min(max(width, 0), 400)
		plain := whole(Style{Width: width}, text)
		if clean := sanitize.Text(plain); clean != plain {
			t.Errorf("the terminal gets %q", plain)
		}
		if bare := sgrs.ReplaceAllString(whole(Style{Width: width, Colour: true}, text), ""); bare != plain {
			t.Errorf("in colour %q, without %q", bare, plain)
		}
		if letters := strings.Count(text, "Q"); strings.Trim(text, "Q*_#>-.\\! \n") == "" &&
			strings.Count(plain, "Q") != letters {
			t.Errorf("%d letters became %d", letters, strings.Count(plain, "Q"))
		}
	})
}

// Wrapped lines fit into the width if each word does, also with wide characters and emoji.
func TestN3_MarkdownWidth(t *testing.T) {
	words := []string{"a", "word", "**bold**", "`code`", "漢字かな", "👩\u200d💻", "🇩🇪", "e\u0301", "**漢**字", "*a*b"}
	seed.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(20, 60).Draw(rt, "width")
		prefix := rapid.SampledFrom([]string{"", "- ", "> ", "12. ", "> - ", "- [ ] ", "# "}).Draw(rt, "prefix")
		text := prefix + strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 80).Draw(rt, "words"), " ")
		for line := range strings.Lines(whole(Style{Width: width}, text)) {
			if n := Width(strings.TrimSuffix(line, "\n")); n > width {
				rt.Fatalf("%q has %d columns of %d", line, n, width)
			}
		}
		chinese := strings.Repeat("漢字", rapid.IntRange(1, 100).Draw(rt, "length"))
		for line := range strings.Lines(whole(Style{Width: width}, prefix+chinese)) {
			if n := Width(strings.TrimSuffix(line, "\n")); n > width || n < min(width-7, 2*len([]rune(chinese))) &&
				!strings.HasSuffix(chinese, strings.TrimSpace(strings.TrimLeft(line, "│ "))) {
				rt.Fatalf("%q has %d columns of %d", line, n, width)
			}
		}
	})
}

// Emphasis, code, links and escapes are those of CommonMark, and nothing that is written is lost.
func TestN3_MarkdownIsCommonMark(t *testing.T) {
	for text, want := range map[string][]piece{
		"**a *b* c**":               {{"a ", strong}, {"b", strong | emphasis}, {" c", strong}},
		"a_b_c 2*3*4 * d *":         {{"a_b_c 2", 0}, {"3", emphasis}, {"4 * d *", 0}},
		"**not closed":              {{"**not closed", 0}},
		"``a ` b`` `c\nd`":          {{"a ` b", code}, {" ", 0}, {"c d", code}},
		"~~gone~~ ~5 and ~6~":       {{"gone", struck}, {" ~5 and ~6~", 0}},
		"[a](b) ![c](<d e> 'f')":    {{"a", link}, {" (b)", faint}, {" ", 0}, {"c", link}, {" (d e)", faint}},
		"[b](b) <https://x>":        {{"b", link}, {" ", 0}, {"https://x", link}},
		"[ref][1] [x] [y]()":        {{"[ref][1] [x] ", 0}, {"y", link}},
		`\*a\* \& &amp;&lt; &x;`:    {{"*a* & &< &x;", 0}},
		"&#27;[31m":                 {{`\u{1b}[31m`, 0}},
		"a <b c='*'>*d*</b>":        {{"a <b c='*'>", 0}, {"d", emphasis}, {"</b>", 0}},
		"one\ntwo\\\nthree  \nfour": {{"one\ntwo\nthree\nfour", 0}},
	} {
		source := []byte(text)
		doc := markdownParser().Parse(goldtext.NewReader(source))
		var got []piece
		for _, p := range inline(doc.FirstChild(), 0, source) {
			if n := len(got); n > 0 && got[n-1].look == p.look {
				got[n-1].text += p.text
				continue
			}
			got = append(got, p)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(piece{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// BenchmarkN3_Markdown renders a megabyte of Markdown, and of texts that slow parsers down. It
// reports the ratio to cleaning the same text, which is what a plain answer costs.
func BenchmarkN3_Markdown(b *testing.B) {
	sample, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		b.Fatal(err)
	}
	for name, unit := range map[string]string{"ordinary": string(sample) + "\n\n", "stars": "*", "brackets": "[",
		"quotes": ">", "quote_marks": "> ", "ticks": "`a``", "emphasis": "**a _b ",
		"links": "[a](b", "images": "![a](b) ![", "items": "- a\n", "table": "|a|b|\n|-|-|\n", "angles": "<a",
		"line": "x", "wide": "漢", "underscores": "_a_", "strikes": "~~a "} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			var plain, rendered time.Duration
			for b.Loop() {
				start := time.Now()
				_ = sanitize.Text(strings.Clone(text))
				plain += time.Since(start)
				start = time.Now()
				whole(Style{Width: 80, Colour: true}, text)
				rendered += time.Since(start)
			}
			b.ReportMetric(float64(rendered.Milliseconds())/float64(b.N), "ms/MB")
			b.ReportMetric(float64(rendered)/float64(plain), "x-plain")
		})
	}
}
