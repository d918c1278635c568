package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

const warning = "[WARNING: Tool output was truncated. "

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func apply(t *testing.T, l Limit, text, want string) {
	t.Helper()
	got, truncated := l.Apply(text, Gap{}, "Hint.")
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if truncated != (text != want) {
		t.Errorf("truncated is %v", truncated)
	}
}

func TestAC5_3_HeadTail(t *testing.T) {
	apply(t, Limit{Chars: 4}, "abcdefghij", "ab\n"+warning+"6 characters were removed from the middle. Hint.]\nij")
	apply(t, Limit{Chars: 5}, "abcdefghij", "ab\n"+warning+"5 characters were removed from the middle. Hint.]\nhij")
	apply(t, Limit{Chars: 10}, "abcdefghij", "abcdefghij")
	apply(t, Limit{Chars: 4}, "a\ncdefgh\nj", "a\n"+warning+"6 characters were removed from the middle. Hint.]\n\nj")
	apply(t, Limit{Chars: -1}, strings.Repeat("x", 100_000), strings.Repeat("x", 100_000))
}

func TestAC5_4_Tail(t *testing.T) {
	apply(t, Limit{Chars: 4, Keep: KeepTail}, "abcdefghij",
		warning+"6 characters were removed from the beginning. Hint.]\nghij")
}

func TestC10_Head(t *testing.T) {
	apply(t, Limit{Chars: 4, Keep: KeepHead}, "abcdefghij",
		"abcd\n"+warning+"6 characters were removed from the end. Hint.]")
}

func TestC10_CountsCodePointsNotBytes(t *testing.T) {
	apply(t, Limit{Chars: 4}, "äöüß", "äöüß")
	apply(t, Limit{Chars: 4}, "äö😀😀😀üß", "äö\n"+warning+"3 characters were removed from the middle. Hint.]\nüß")
	apply(t, Limit{Chars: 3, Keep: KeepTail}, "äö😀😀üß",
		warning+"3 characters were removed from the beginning. Hint.]\n😀üß")
}

func TestAC5_2_LinesAfterChars(t *testing.T) {
	apply(t, Limit{Lines: 4}, lines(1, 10), lines(1, 2)+"[... 6 lines omitted ...]\n[Hint.]\n"+lines(9, 10))
	apply(t, Limit{Lines: 5}, lines(1, 10), lines(1, 2)+"[... 5 lines omitted ...]\n[Hint.]\n"+lines(8, 10))
	apply(t, Limit{Lines: 10}, lines(1, 10), lines(1, 10))
	apply(t, Limit{Lines: 9}, strings.TrimSuffix(lines(1, 10), "\n"),
		lines(1, 4)+"[... 1 lines omitted ...]\n[Hint.]\n"+strings.TrimSuffix(lines(6, 10), "\n"))
}

func TestC10_LineCutKeepsTheCharacterMarker(t *testing.T) {
	text := lines(1, 1000)
	removed := utf8.RuneCountInString(text) - 400
	marker := fmt.Sprintf("%s%d characters were removed from the middle. Hint.]\n", warning, removed)
	got, _ := Limit{Chars: 400, Lines: 4}.Apply(text, Gap{}, "Hint.")
	want := lines(1, 2) + marker + "[... 996 lines omitted ...]\n" + lines(999, 1000)
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	got, _ = Limit{Chars: 400, Lines: 4, Keep: KeepTail}.Apply(text, Gap{}, "Hint.")
	if !strings.HasPrefix(got, strings.Replace(marker, "the middle", "the beginning", 1)) ||
		!strings.HasSuffix(got, lines(999, 1000)) {
		t.Errorf("tail: %q", got)
	}
	got, _ = Limit{Chars: 400, Lines: 4, Keep: KeepHead}.Apply(text, Gap{}, "Hint.")
	if !strings.HasPrefix(got, lines(1, 2)+"[... ") || !strings.Contains(got, "from the end. Hint.]") {
		t.Errorf("head: %q", got)
	}
}

func TestAC5_5_TenMegabyteLine(t *testing.T) {
	text := strings.Repeat("x", 10<<20)
	got, truncated := Limit{Chars: 30_000, Lines: 256}.Apply(text, Gap{}, "")
	half := strings.Repeat("x", 15_000)
	want := fmt.Sprintf("%s\n%s%d characters were removed from the middle. %s]\n%s", half, warning, 10<<20-30_000,
		defaultHint, half)
	if got != want || !truncated {
		t.Errorf("%d characters, %.80q", len(got), got)
	}
}

func TestAC5_6_TheGeneralDefault(t *testing.T) {
	if got, truncated := (Limit{}).Apply(strings.Repeat("x", 30_000), Gap{}, ""); truncated || len(got) != 30_000 {
		t.Errorf("30,000 characters were cut to %d", len(got))
	}
	got, truncated := Limit{}.Apply(strings.Repeat("x", 30_001), Gap{}, "")
	if !truncated || !strings.Contains(got, "1 characters were removed from the middle") {
		t.Errorf("%.100q", got[14_990:])
	}
}

// numbered holds a text in which every character except newlines is different, so that a result
// shows which ones it has.
type numbered struct {
	text   []rune
	lineOf map[rune]int
}

const firstRune = 0x4e00

func drawNumbered(t *rapid.T) numbered {
	n := numbered{lineOf: map[rune]int{}}
	next := rune(firstRune)
	for line, width := range rapid.SliceOfN(rapid.IntRange(1, 12), 1, 60).Draw(t, "widths") {
		if line > 0 {
			n.text = append(n.text, '\n')
		}
		for range width {
			n.text = append(n.text, next)
			n.lineOf[next] = line
			next++
		}
	}
	if rapid.Bool().Draw(t, "ended") {
		n.text = append(n.text, '\n')
	}
	return n
}

// shown returns the numbered characters of a text.
func shown(text string) []rune {
	var runes []rune
	for _, r := range text {
		if r >= firstRune {
			runes = append(runes, r)
		}
	}
	return runes
}

var (
	charMarker = regexp.MustCompile(
		`\[WARNING: Tool output was truncated\. (\d+) characters were removed from the [a-z]+\. Hint\.\]`)
	lineMarker = regexp.MustCompile(`(?m)^\[\.\.\. (\d+) lines omitted \.\.\.\]$`)
)

// markedCount returns the number in the only marker of its kind, and whether there is one.
func markedCount(t *rapid.T, marker *regexp.Regexp, text string) (int, bool) {
	found := marker.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(found[0][1])
	if err != nil || len(found) > 1 {
		t.Fatalf("markers %q", found)
	}
	return n, true
}

// TestC10_CountsAreExact draws texts, gaps in them and limits, and checks that what is shown and
// what is reported as missing add up to the original.
func TestC10_CountsAreExact(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		n := drawNumbered(t)
		total := len(n.text)
		l := Limit{
			Chars: rapid.IntRange(1, total+5).Draw(t, "chars"),
			Lines: rapid.IntRange(0, 20).Draw(t, "lines"),
			Keep:  rapid.SampledFrom([]Keep{KeepHeadTail, KeepHead, KeepTail}).Draw(t, "keep"),
		}
		from := rapid.IntRange(0, total).Draw(t, "gap from")
		to := from
		if rapid.Bool().Draw(t, "gap") {
			to = rapid.IntRange(from, total).Draw(t, "gap to")
		}
		hole := string(n.text[from:to])
		gap := Gap{At: len(string(n.text[:from])), Bytes: int64(len(hole)), Chars: int64(to - from),
			Lines: int64(strings.Count(hole, "\n"))}
		text := string(n.text[:from]) + string(n.text[to:])

		chars := Limit{Chars: l.Chars, Keep: l.Keep}
		got, truncated := chars.Apply(text, gap, "Hint.")
		removed, marked := markedCount(t, charMarker, got)
		if marked != truncated || truncated != (to > from || total > l.Chars) {
			t.Fatalf("truncated %v, marked %v: %q", truncated, marked, got)
		}
		kept := utf8.RuneCountInString(charMarker.ReplaceAllString(got, ""))
		if marked { // the marker may have added up to two newlines
			if kept -= total - removed; kept < 0 || kept > 2 {
				t.Fatalf("%d removed of %d, %d too many shown: %q", removed, total, kept, got)
			}
			if total-removed > l.Chars {
				t.Fatalf("%d characters kept, limit %d", total-removed, l.Chars)
			}
			if to == from && total-removed != l.Chars {
				t.Fatalf("%d characters kept, limit %d", total-removed, l.Chars)
			}
		} else if got != text {
			t.Fatalf("changed without a marker: %q", got)
		}

		got, _ = l.Apply(text, gap, "Hint.")
		if again, stays := markedCount(t, charMarker, got); again != removed || stays != marked {
			t.Fatalf("the line pass changed the marker: %q", got)
		}
		checkLines(t, n, l, got)
	})
}

// checkLines checks the cut by lines.
func checkLines(t *rapid.T, n numbered, l Limit, got string) {
	visible := shown(got)
	distinct := map[int]bool{}
	for i, r := range visible {
		if i > 0 && r <= visible[i-1] {
			t.Fatalf("order changed: %q", got)
		}
		distinct[n.lineOf[r]] = true
	}
	if l.Lines > 0 && len(distinct) > l.Lines {
		t.Fatalf("%d lines shown, limit %d: %q", len(distinct), l.Lines, got)
	}
	omitted, marked := markedCount(t, lineMarker, got)
	if !marked {
		return
	}
	at := lineMarker.FindStringIndex(got)
	before, after := -1, len(n.text)
	if v := shown(got[:at[0]]); len(v) > 0 {
		before = n.lineOf[v[len(v)-1]]
	}
	if v := shown(got[at[1]:]); len(v) > 0 {
		after = n.lineOf[v[0]]
	}
	// The original has no blank lines. A blank line in the result is the end of a line that was
	// cut. It counts as shown, though it is unknown which line it is.
	blank := strings.Contains("\n"+got, "\n\n")
	if between := after - before - 1; after < len(n.text) && (omitted > between || omitted < between && !blank) {
		t.Fatalf("%d lines omitted, but line %d follows line %d: %q", omitted, after, before, got)
	}
	if omitted == 0 {
		t.Fatalf("a marker for nothing: %q", got)
	}
}
