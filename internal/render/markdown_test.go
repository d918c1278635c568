package render

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"rsc.io/markdown"

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
		plain, coloured := whole(Style{Width: width}, string(text)), whole(Style{Width: width, Colour: true}, string(text))
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
	units := []string{"*", "**", "_", "`", "```", "~~~", "[", "](", ")", "![", "<", ">", "> ", "- ", "1. ", "10) ", "#", "# ", "|", "|-|-|", "---", "===", "\n", "\n", "\n\n", "  ", "    ",
		"\t", "\\", "&amp;", "&#27;", "<a b='*'>", "<https://x>", "- [x] ", "word", "a", "é", "漢", "👩\u200d💻", "e\u0301", "\x1b[31m", "\x1b]0;x\a", "\u202e", "\xff", "\r\n", "\x00"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(units), 0, 60).Draw(rt, "text"), "")
}

// The output does not depend on the pieces in which the text comes, and at each moment it is a beginning of the whole.
func TestN3_MarkdownInPieces(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		text := markdownText(rt)
		style := Style{Width: rapid.SampledFrom([]int{0, 1, 20, 80}).Draw(rt, "width"), Colour: rapid.Bool().Draw(rt, "colour")}
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
	text := "# x\n" + strings.Repeat("漢字 word ", maxHeldLine/4) + "\n\n- " + strings.Repeat("é", 3*maxHeldLine) + "\n" + strings.Repeat("line\n", maxHeldBlock/2)
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
			if held := len(m.Rest()); held > maxHeldLine+maxHeldBlock+100 {
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

// FuzzN3_Markdown renders arbitrary texts. Nothing of them acts on a terminal, no text is lost, and lines fit if their words do.
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
		if letters := strings.Count(text, "Q"); strings.Trim(text, "Q*_#>-.\\! \n") == "" && strings.Count(plain, "Q") != letters {
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
			if n := Width(strings.TrimSuffix(line, "\n")); n > width || n < min(width-7, 2*len([]rune(chinese))) && !strings.HasSuffix(chinese, strings.TrimSpace(strings.TrimLeft(line, "│ "))) {
				rt.Fatalf("%q has %d columns of %d", line, n, width)
			}
		}
	})
}

// shown returns each character of pieces with its look, without the URLs of links.
func shown(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		for _, r := range p.text {
			if p.look&faint == 0 {
				fmt.Fprintf(&b, "%c%d ", r, p.look)
			}
		}
	}
	return b.String()
}

// reference returns the same for inlines of rsc.io/markdown.
func reference(inlines []markdown.Inline, look look) []piece {
	var list []piece
	for _, in := range inlines {
		switch x := in.(type) {
		case *markdown.Plain:
			list = append(list, piece{x.Text, look})
		case *markdown.Escaped:
			list = append(list, piece{x.Text, look})
		case *markdown.HTMLTag:
			list = append(list, piece{x.Text, look})
		case *markdown.Code:
			list = append(list, piece{x.Text, look | code})
		case *markdown.Strong:
			list = append(list, reference(x.Inner, look|strong)...)
		case *markdown.Emph:
			list = append(list, reference(x.Inner, look|emphasis)...)
		case *markdown.Del:
			list = append(list, reference(x.Inner, look|struck)...)
		case *markdown.Link:
			list = append(list, reference(x.Inner, look|link)...)
		case *markdown.Image:
			list = append(list, reference(x.Inner, look|link)...)
		default:
			var text bytes.Buffer
			in.PrintText(&text)
			list = append(list, piece{html.UnescapeString(text.String()), look})
		}
	}
	return list
}

// Emphasis, code and links are those of CommonMark: what rsc.io/markdown makes of random texts.
func TestN3_MarkdownIsCommonMark(t *testing.T) {
	units := []string{"*", "*", "**", "***", "_", "__", "`", "``", "[", "](u)", "](<u v> 't')", "![", "\\", "~~", "a", "b", " ", ".", "(", ")", "é"}
	parser := markdown.Parser{Strikethrough: true}
	seed.Check(t, func(rt *rapid.T) {
		text := "x" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(units), 0, 30).Draw(rt, "units"), "") + "x"
		doc := parser.Parse(text)
		if strings.Contains(text, `\~`) { // a single ~ is one here
			return
		}
		if len(doc.Blocks) != 1 || len(doc.Links) > 0 {
			return
		}
		p, ok := doc.Blocks[0].(*markdown.Paragraph)
		if !ok {
			return
		}
		if got, want := shown(inline(text)), shown(reference(p.Text.Inline, 0)); got != want {
			rt.Fatalf("%q is\n%s, want\n%s", text, got, want)
		}
	})
}

// BenchmarkN3_Markdown renders a megabyte of Markdown, and of texts that slow parsers down. It reports the ratio to cleaning the same text,
// which is what a plain answer costs.
func BenchmarkN3_Markdown(b *testing.B) {
	sample, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		b.Fatal(err)
	}
	for name, unit := range map[string]string{"ordinary": string(sample) + "\n\n", "stars": "*", "brackets": "[", "quotes": ">", "quote_marks": "> ", "ticks": "`a``", "emphasis": "**a _b ",
		"links": "[a](b", "images": "![a](b) ![", "items": "- a\n", "table": "|a|b|\n|-|-|\n", "angles": "<a", "line": "x", "wide": "漢", "underscores": "_a_", "strikes": "~~a "} {
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
