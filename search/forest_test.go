package search

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

// forest returns a tree with everything that searches differ in: nested rules and negations, hidden
// and binary files, line ends, byte order marks, invalid UTF-8, long lines, odd names.
func forest(t testing.TB) *env.Local {
	t.Helper()
	files := map[string]string{
		".gitignore": "*.log\n!keep.log\n/only-here\nbuild/\ndocs/**/gen\n", "a/.gitignore": "!*.log\nsecret*\n",
		"a/b/.gitignore":    "*\n!.gitignore\n!yes.txt\n",
		".git/info/exclude": "excluded\n", ".ignore": "plain.txt\n", "a/.rgignore": "d2.txt\n",
		"keep.log": "foo\n", "x.log": "foo\n", "a/x.log": "foo BAR\n", "only-here": "foo\n", "a/only-here": "foo\n",
		"build/o":   "foo\n",
		"src/build": "foo\n", "docs/1/2/gen/f": "foo\n", "docs/gen2": "foo\n", "a/secret1": "foo\n",
		"a/b/no.txt": "foo\n", "a/b/yes.txt": "foo\n",
		"excluded": "foo\n", "plain.txt": "foo\n", ".hidden/.f": "foo X12\n", ".env": "K=foo\n",
		"bin/early": "foo\x00bar\n", "bin/late": strings.Repeat("foo x12\n", 1100) + "\x00 XYZ99\n",
		"crlf": "one\r\nfoo\r\nx12\r\n\r\n", "bom": "\ufefffoo\nX12\n", "crs": "a\rb\r\n12\r", "nofinal": "one\nx12",
		"empty":  "",
		"latin1": "caf\xe9 foo\nx\xff12\n\xe2\x82\n", "wide": "ſtop \u212aelvin ÄÖÜ äöü ΣΑΣ ς 日本語 \U0001F600 foo\n",
		"long":         strings.Repeat("y", 5000) + "foo X12" + strings.Repeat("z", 5000) + "\nshort\n",
		"süß/日本 語.txt": "foo x12\n", "odd/'quote' \"$x\" `y`;": "foo X12\n", "odd/-e": "foo x12\n",
		"odd/line\nbreak": "foo x12\n", "odd/*": "x12\n",
	}
	rnd := seed.New(t)
	for i := range 80 {
		files[fmt.Sprintf("gen/%d/%d.txt", i%7, i)] = someText(rnd, rnd.IntN(60))
	}
	return plant(t, files)
}

// someText returns a random text of words that the patterns match, and line ends.
func someText(rnd *rand.Rand, words int) string {
	pieces := []string{"foo", "Bar", "x12", "X12", "ABCDE123", "_", "ä", "Σ", "\u017f", " ", "\t", "\n", "\n", "\r\n",
		"(", "é", "\xff", "\x00"}
	var b strings.Builder
	for range words {
		b.WriteString(pieces[min(rnd.IntN(len(pieces)+8), rnd.IntN(len(pieces)))])
	}
	return b.String()
}

// operators returns patterns with every operator of the syntax, and some that are easily misread.
func operators() []string {
	return []string{
		`foo`, `[A-Z]{5}\d{3}`, `\w\d+$`, `^\w+$`, `^[a-z]+\s`, `\d`, `\D\d\D`, `\s\S\s`, `^.{3}$`, `.{40,}`,
		`[^a-z\s]{2}`, `\bx`, `\Bx`, `x\b|\b_`, `\B_\B`, `[äöü]`,
		`(?i:ä)[öÖ]`, `(?i)[k]`, `(?i)[s]top`, `[ſK]`, `\p{Greek}`, `\pL\pN`, `[[:upper:]][[:digit:]]`, `[^\x00-\x7f]`,
		`.\x{FFFD}`, `[\x{FFFD}]`, `\x00`, `[\x00-\x08]`,
		`(a|b|\d)+?x`, `(?P<n>\d){2}`, `^$`, `x*`, `[\r]`, `\r`, `.\r$`, `$`, `^`, `\A\S`, `\S\z`, `^[^ ]$`, `[\n\d]`,
		`[^\n]{5}$`, `7$`, `^[q]+$`, `[()]`, `[\-\]\\^]`,
		`^(?:\d|)$`, `\Q[a]\E|\d_`, `(?s).{3}_`, `(?U)\d+`, `(?m)^\d$`, `\x{1F600}`, `[\x{1F000}-\x{1FFFF}]`,
		`[a-z&&[b]]`, `[a~~b]`, `#|\d `, `日.`,
		`foo|Bar|x12|X12|ABC|_|ä|Σ|\(`, `f.*o\b`, `(?:$^|\d)$`, `$^`, `^^\d`, `(?i)ABCDE123|x`, `fo[^o]*o{2}.*\d$`,
		`[[:^alpha:]]{3}`, `1{0}2`, `(?:1{0,3}2){2,}|é`, `(?i)äfoo`,
	}
}
