package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// scanText scans a text in chunks of a given size.
func scanText(t interface{ Fatalf(string, ...any) }, text string, q Query, chunk int) FileMatches {
	s := newScanner(t, &q, chunk)
	found, _, err := s.scan(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return found
}

// newScanner returns a scanner for chunks of a size, with a buffer that is smaller at first.
func newScanner(t interface{ Fatalf(string, ...any) }, q *Query, chunk int) scanner {
	m, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return scanner{matcher: m, query: q, limit: chunk, buf: make([]byte, max(3, chunk/16))}
}

// reference implements the scanner line by line with regexp.
func reference(text string, q Query) []Line {
	flags := ""
	if q.IgnoreCase {
		flags = "(?i)"
	}
	re := regexp.MustCompile(flags + q.Pattern)
	m, err := compile(q.Pattern, q.IgnoreCase)
	if err != nil {
		panic(err)
	}
	text, ended := strings.CutSuffix(text, "\n")
	if text == "" && !ended {
		return nil
	}
	lines := strings.Split(text, "\n")
	shown := map[int]bool{}
	matches := map[int]bool{}
	for i := range lines {
		content := lines[i]
		lines[i] = strings.TrimSuffix(content, "\r")
		if !m.keepCR {
			content = lines[i]
		}
		if re.MatchString(content) {
			matches[i] = true
			for j := i - q.Before; j <= i+q.After; j++ {
				shown[j] = true
			}
		}
	}
	var found []Line
	for i, l := range lines {
		if shown[i] {
			found = append(found, Line{Number: i + 1, Text: l, Match: matches[i]})
		}
	}
	return found
}

// TestC8_ScanIsWhatAPlainSearchFinds compares the scanner, with its prefilter, its chunks and
// context across them, with the reference.
func TestC8_ScanIsWhatAPlainSearchFinds(t *testing.T) {
	patterns := []string{
		"foo", "fo+", "^foo", "foo$", "^foo$", "^$", "o.*k", "foo|bark", "(foo|ba)r", "(?i)FoO|sak", "b.r", `\bfoo\b`,
		"[^f]oo", `\s`, `\W`,
		"k", "S", "sask", "ä", "x{2,3}", "(ab)*", "a?b?", "f|o", "o{2}k", "(?:foo)?bar", "[fb]o", "foo.", `fo\S`,
		`\Afoo`, `foo\z`, "fo(o|O)|ä+|kk", "foo|[ab]+", "[fb]o+$", "^[a-z]+$", `[[:^lower:]]$`, `a\b.`, "[^a].[^a]",
		"^.?$", "(?:ab|ba)+x", "[fk].{2,8}[ox]",
	}
	pieces := []string{"foo", "Foo", "FOO", "bar", "ba", "k", "K", "\u212a", "s", "\u017f", "ask", "ä", "Ä", "x", "ab",
		" ", "\t", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\r\n", "\r\n", "o"}
	seed.Check(t, func(t *rapid.T) {
		q := Query{
			Pattern:    rapid.SampledFrom(patterns).Draw(t, "pattern"),
			IgnoreCase: rapid.Bool().Draw(t, "ignoreCase"),
			Before:     rapid.IntRange(0, 3).Draw(t, "before"),
			After:      rapid.IntRange(0, 3).Draw(t, "after"),
		}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 120).Draw(t, "text"), "")
		longest := 0
		for _, l := range strings.SplitAfter(text, "\n") {
			longest = max(longest, len(l))
		}
		chunk := 2*longest*(q.Before+2) + rapid.IntRange(1, 40).Draw(t, "chunk")
		want := reference(text, q)
		if diff := cmp.Diff(want, scanText(t, text, q, chunk).Lines); diff != "" {
			t.Fatalf("%q in %q, chunks of %d: %s", q.Pattern, text, chunk, diff)
		}
		q.Mode = Counts
		matching := 0
		for _, l := range want {
			if l.Match {
				matching++
			}
		}
		if got := scanText(t, text, q, chunk).Count; got != matching {
			t.Fatalf("count %d, want %d", got, matching)
		}
	})
}

// TestC8_ContextAcrossChunks moves two matches over the borders of chunks that hold seven lines or
// so.
func TestC8_ContextAcrossChunks(t *testing.T) {
	for at := range 60 {
		var text strings.Builder
		for i := range 60 {
			if i == at || i == at+4 {
				text.WriteString("foo")
			}
			fmt.Fprintf(&text, "line %d\n", i)
		}
		for _, q := range []Query{{Before: 2}, {After: 3}, {Before: 2, After: 1}, {Before: 3, After: 3}} {
			q.Pattern = "foo"
			if diff := cmp.Diff(reference(text.String(), q), scanText(t, text.String(), q, 64).Lines); diff != "" {
				t.Fatalf("match in line %d, %d before, %d after: %s", at, q.Before, q.After, diff)
			}
		}
	}
}

// TestC8_EveryOperator compares the scanner with the reference for texts of all kinds of bytes.
func TestC8_EveryOperator(t *testing.T) {
	rnd := seed.New(t)
	matched := 0
	for range 30 {
		text := strings.ReplaceAll(someText(rnd, rnd.IntN(40)), "\x00", "0")
		for _, pattern := range operators() {
			for _, fold := range []bool{false, true} {
				q := Query{Pattern: pattern, IgnoreCase: fold}
				want := reference(text, q)
				if diff := cmp.Diff(want, scanText(t, text, q, maxChunk).Lines); diff != "" {
					t.Fatalf("%s, ignoring case %v, in %q: %s", pattern, fold, text, diff)
				}
				matched += len(want)
			}
		}
	}
	if matched < 2000 {
		t.Errorf("%d lines matched: the test compares nothing", matched)
	}
}

// TestC8_ExpressionsThatAreTooMuch for one dfa go on with a relaxed one, and then with regexp, in
// the middle of a text.
func TestC8_ExpressionsThatAreTooMuch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var text strings.Builder
	for range 1200 {
		for range rnd.IntN(60) {
			text.WriteByte("aaabc"[rnd.IntN(5)])
		}
		text.WriteByte('\n')
	}
	for pattern, programs := range map[string]int{
		`[ab]a[ab]$`:                                  1,
		`[ab].{12}[c]c{3}`:                            2, // counting needs the states, and not to count does not
		`[ab].{12}(?:cc){0,2}[ab]$`:                   2,
		`a(?:[ab]c){400}|bcb$`:                        1,
		`(?:[ab][ac][bc][a-c][abc]){900}|bcb$`:        2, // the program is too large
		`[ab]` + strings.Repeat(`[a-c]`, 14) + `[bc]`: 3, // too many states in any case
	} {
		q := Query{Pattern: pattern}
		s := newScanner(t, &q, maxChunk)
		found, _, err := s.scan(context.Background(), strings.NewReader(text.String()))
		must(t, err)
		if diff := cmp.Diff(reference(text.String(), q), found.Lines); diff != "" {
			t.Errorf("%s: %.1000s", pattern, diff)
		}
		tried := s.tried
		if s.machine() == nil {
			tried++
		}
		if tried != programs || len(found.Lines) == 0 {
			t.Errorf("%s: way %d, want %d; %d lines", pattern, tried, programs, len(found.Lines))
		}
	}
}

// FuzzC8_Scan: any expression finds in any text what the plain way finds.
func FuzzC8_Scan(f *testing.F) {
	for i, pattern := range operators() {
		f.Add(pattern, "foo\nX12 ä\r\nABCDE123\xff_", i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		q := Query{Pattern: pattern, IgnoreCase: fold}
		if _, err := compile(pattern, fold); err != nil || len(text) > 1000 || len(pattern) > 100 {
			return
		}
		text = strings.ReplaceAll(text, "\x00", "0")
		if diff := cmp.Diff(reference(strings.TrimPrefix(text, "\ufeff"), q),
			scanText(t, text, q, maxChunk).Lines); diff != "" {
			t.Errorf("%q in %q: %s", pattern, text, diff)
		}
	})
}

func TestC8_LinesAreSearchedOneByOne(t *testing.T) {
	const text = "foo\nbar\r\nbaz"
	for pattern, want := range map[string]int{
		`(?s)foo.bar`: 0, `foo\sbar`: 0, `foo[^x]bar`: 0, `(?m)^bar$`: 1, `(?-m)^bar$`: 1, `\Abar\z`: 1, `bar\r`: 1,
		`r$`: 1, `\r$`: 1,
		`[\n-\r]`: 0, `\s`: 0, `(?s).`: 3, `[[:cntrl:]]`: 0,
	} {
		if got := scanText(t, text, Query{Pattern: pattern, Mode: Counts}, 100).Count; got != want {
			t.Errorf("%s: %d lines, want %d", pattern, got, want)
		}
	}
}

// TestC8_OddFolding has the two characters outside of ASCII that are ASCII letters in another case.
func TestC8_OddFolding(t *testing.T) {
	for pattern, text := range map[string]string{"look": "loo\u212a", "sask": "\u017fask", "k": "\u212a",
		"ASK": "a\u017fk"} {
		if got := scanText(t, text, Query{Pattern: pattern, IgnoreCase: true, Mode: Counts}, 100).Count; got != 1 {
			t.Errorf("%s does not match %s", pattern, text)
		}
		if got := scanText(t, text, Query{Pattern: pattern, Mode: Counts}, 100).Count; got != 0 {
			t.Errorf("%s matches %s", pattern, text)
		}
	}
}

func TestC8_RequiredLiterals(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo": "foo", "fo+bar": "bar", "a|b|c": "", "foo|[ab]+": "", "foo|bar": "bar foo", "(foo|bar)x+bazz": "bazz",
		"foo?": "fo", "(foo)?": "",
		"(?i)Foo": "foo fold", "(?i)füßen": "en fold", "(?i)foo|(?-i)Bar": "bar foo fold", "[a-z]+": "",
		`\bfoo(\d+)`: "foo", "(foo){2}": "foo",
		"(foo){0,2}": "", "a1|b2|c3|d4|e5|f6|g7|h8|i9": "a1 b2 c3 d4 e5 f6 g7 h8 i9", "a|b2|c3|d4|e5|f6|g7|h8|i9": "",
		"f\xc3": "",
	} {
		m, err := compile(pattern, false)
		if err != nil {
			if pattern == "f\xc3" {
				continue
			}
			t.Fatal(err)
		}
		got := []string{}
		if m.grams != nil {
			for _, l := range m.grams.set.texts {
				got = append(got, string(l))
			}
			slices.Sort(got)
			if m.grams.set.fold {
				got = append(got, "fold")
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", pattern, s, want)
		}
	}
}

func TestC8_PatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo(bar":     "at character 4, here: (bar",
		"äfoo(b(c)":   "at character 5, here: (b(c)",
		`a\(b)c`:      "at character 5, here: )c",
		"[(](":        "at character 4, here: (",
		"[^)](x":      "at character 5, here: (x",
		"[]()](x":     "at character 6, here: (x",
		"a[b":         "at character 2, here: [b",
		"*a":          "at character 1, here: *a",
		"a**":         "at character 2, here: **",
		"foo(?=bar)":  "no lookahead",
		"(?<=foo)bar": "no lookahead",
		`(a)\1`:       "no backreferences",
		`foo\nbar`:    "newline",
		"foo\nbar":    "newline",
		"x{1001}":     "at character 2",
	} {
		for _, ignoreCase := range []bool{false, true} {
			if _, err := compile(pattern, ignoreCase); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", pattern, err, want)
			}
		}
	}

}
