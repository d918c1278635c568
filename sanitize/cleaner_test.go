package sanitize

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// dirty returns the first character that must not be in clean text. It is independent of the code
// under test.
func dirty(text string) string {
	if !utf8.ValidString(text) {
		return "invalid UTF-8"
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\u200d':
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return string(appendEscape(nil, r))
		case r >= 0xe0100 && r <= 0xe01ef, r >= 0xfe00 && r < 0xfe0e, r == 0x3164, r == 0x115f, r == 0xffa0, r == 0x34f:
			return string(appendEscape(nil, r))
		}
	}
	return ""
}

// inPieces cleans a stream that is cut at the given offsets.
func inPieces(raw string, cuts ...int) string {
	var c Cleaner
	var b []byte
	at := 0
	for _, cut := range append(cuts, len(raw)) {
		piece := []byte(raw[at:cut])
		b = c.Append(b, piece)
		clear(piece) // a Cleaner must not retain its argument
		at = cut
	}
	b = c.Flush(b)
	return string(c.Flush(b)) // a second Flush returns nothing
}

func testTerminal(t *testing.T, raw, want string) {
	t.Helper()
	if got := Terminal(raw); got != want {
		t.Errorf("%q became %q, want %q", raw, got, want)
	}
	every := make([]int, len(raw))
	for i := range len(raw) {
		every[i] = i
		if got := inPieces(raw, i); got != want {
			t.Errorf("%q cut at %d became %q, want %q", raw, i, got, want)
		}
	}
	if got := inPieces(raw, every...); got != want {
		t.Errorf("%q byte by byte became %q, want %q", raw, got, want)
	}
	if problem := dirty(want); problem != "" {
		t.Errorf("%q is not clean: %s", want, problem)
	}
	if again := Terminal(want); again != want {
		t.Errorf("%q cleaned again is %q", want, again)
	}
	if again := Text(want); again != want {
		t.Errorf("%q cleaned again as text is %q", want, again)
	}
}

// terminalCases holds one or more cases for each rule.
var terminalCases = []struct{ name, raw, want string }{
	{"plain", "plain text\n\tindented, é 漢 😀\n", "plain text\n\tindented, é 漢 😀\n"},
	{"emoji with joiner and variation selector", "👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"},
	{"colours", "\x1b[1;31merror\x1b[0m: \x1b[38:2::1:2:3mx\x1b[m", "error: x"},
	{"cursor and erase", "\x1b[2J\x1b[5;10Hhere\x1b[K\x1b[?25l\x1b[>4;1m\x1b[1 q", "here"},
	{"conceal", "\x1b[8mhidden\x1b[0m", "hidden"},
	{"character sets and two-byte sequences", "\x1b(Ba\x1b7b\x1b8c\x1b=d\x1bce\x0ff\x0eg\ah", "abcdefgh"},
	{"title with BEL", "\x1b]0;title\x07text", "text"},
	{"title with ST", "\x1b]0;title é漢✜\x1b\\text", "text"},
	{"link", "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"},
	{"device control, application, privacy, start of string", "\x1bPq#0\x1b\\a\x1b_G1\x1b\\b\x1b^p\x1b\\c\x1bXs\x1b\\d",
		"abcd"},
	{"8-bit forms, raw", "\x9b31mred\x9b0m \x9d0;t\x9c\x90q\x9cx", "red x"},
	{"8-bit forms, as characters", "\u009b31mred\u009b0m \u009d0;t\u009c\u0090q\u009cx", "red x"},
	{"raw ST inside of a character", "\x1b]0;\u271c\u271c\x07x", "x"},
	{"unterminated title", "\x1b]0;never\nnext line\n", `\u{1b}]0;never` + "\nnext line\n"},
	{"unterminated title at the end", "a\x1b]0;never", `a\u{1b}]0;never`},
	{"title cut by a sequence", "\x1b]0;never\x1b[31mred", `\u{1b}]0;neverred`},
	{"title cut by a title", "\x1b]0;never\x1b]0;t\x07x", `\u{1b}]0;neverx`},
	{"title cut by the end, at ESC", "\x1b]0;never\x1b", `\u{1b}]0;never\u{1b}`},
	{"title cut by a raw C1", "\x1b]0;never\x85x", `\u{1b}]0;never` + "\ufffdx"},
	{"title cut by DEL", "\x1b]0;a\x7fb\ac", `\u{1b}]0;a\u{7f}bc`},
	{"title cut by a raw control sequence", "\x1b]0;a\x9b31mb\ac", `\u{1b}]0;abc`},
	{"BEL does not end a device control string", "\x1bPq\x07text", `\u{1b}Pqtext`},
	{"control sequence cut by a newline", "\x1b[31\n1mx", `\u{1b}[31` + "\n1mx"},
	{"parameter after an intermediate byte", "\x1b[1 2qx", `\u{1b}[1 2qx`},
	{"control sequence cut by a character", "\x1b[3é", `\u{1b}[3é`},
	{"lone escapes", "\x1b\x1b\x1b[mx\x1b", `\u{1b}\u{1b}x\u{1b}`},
	{"raw introducer before what is no sequence", "\x9b\nx", "\ufffd\nx"},
	{"hidden characters in a sequence that is none", "\x1b]0;\u202e\nx", `\u{1b}]0;\u{202e}` + "\nx"},
	{"line ends", "a\r\nb\n\nc\n", "a\nb\n\nc\n"},
	{"carriage returns", "10%\r50%\r100%\r\n", "10%\n50%\n100%\n"},
	{"carriage returns in a row", "a\r\r\nb\r\n\nc", "a\nb\n\nc"},
	{"carriage return, erase, newline", "50%\r\x1b[K\nx", "50%\nx"},
	{"bold of manual pages", "N\bNA\bAM\bME\bE é\bé 漢\b漢", "NAME é 漢"},
	{"underline of manual pages", "_\bf_\bi_\bl_\be _\b_ _\bé", "file _ é"},
	{"bold underline", "_\bx\bx_\b_\bx", "xx"},
	{"underscores", "a_b__c_\n_", "a_b__c_\n_"},
	{"backspaces", "good\b\b\b\bevil", `good\u{8}\u{8}\u{8}\u{8}evil`},
	{"backspace over something else", "a\bb _\b", `a\u{8}b _\u{8}`},
	{"underscore over something else", "x\b_ x\b_\by x\b_\b_z", `x\u{8}_ x\u{8}y x\u{8}_z`},
	{"backspace after a newline", "a\n\b\nb\t\b\t", "a\n" + `\u{8}` + "\nb\t" + `\u{8}` + "\t"},
	{"backspace and a sequence", "a\b\x1b[1ma", `a\u{8}a`},
	{"other control characters", "a\x00b\x0bc\x0cd\x7fe\u0085f", `a\u{0}b\u{b}c\u{c}d\u{7f}e\u{85}f`},
	{"bidirectional", "a\u202eb\u2066c", `a\u{202e}b\u{2066}c`},
	{"invisible", "a\u200bb\ufeffc\u00add\u2060e\u034f\u3164\u2028",
		`a\u{200b}b\u{feff}c\u{ad}d\u{2060}e\u{34f}\u{3164}\u{2028}`},
	{"tags and variation selectors", "\U000e0041\U000e0100\ufe00", `\u{e0041}\u{e0100}\u{fe00}`},
	{"invalid UTF-8", "a\xff\xfe\xfab\xc3(\xe2\x82\xf0", "a\ufffdb\ufffd(\ufffd"},
	{"invalid runs", "\xff\n\xff", "\ufffd\n\ufffd"},
}

func TestB_CleanTerminal(t *testing.T) {
	for _, tt := range terminalCases {
		t.Run(tt.name, func(t *testing.T) { testTerminal(t, tt.raw, tt.want) })
	}
}

// An unterminated sequence, whatever it contains, is given up after a limit, and each of its bytes
// is shown.
func TestB_CleanTerminalIsBounded(t *testing.T) {
	for _, intro := range []string{"\x1b]", "\x1bP", "\x1b[", "\x9d", "\x1b("} {
		fill := "1"
		if intro == "\x1b(" {
			fill = "("
		}
		long := strings.Repeat(fill, 3*maxSequence)
		var c Cleaner
		got := c.Append(nil, []byte(intro+long))
		if waits := len(intro) + len(long) - len(got); waits > maxSequence+len(intro) {
			t.Errorf("after %q %d bytes wait", intro, waits)
		}
		if got = c.Flush(got); strings.Count(string(got), fill) < len(long) {
			t.Errorf("after %q %d bytes of %d are shown", intro, strings.Count(string(got), fill), len(long))
		}
		if cap(c.seq) > 2*maxSequence {
			t.Errorf("after %q the cleaner holds %d bytes", intro, cap(c.seq))
		}
	}
	kitty := "\x1b_Gf=100,m=1;" + strings.Repeat("A", 4096) + "\x1b\\"
	testTerminalOnce(t, strings.Repeat(kitty, 3)+"x", "x")
}

func testTerminalOnce(t *testing.T, raw, want string) {
	t.Helper()
	if got := Terminal(raw); got != want {
		t.Errorf("got %.80q, want %.80q", got, want)
	}
}

func TestB_CleanText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é 漢 👩\u200d💻 _\n": "plain\n\ttext é 漢 👩\u200d💻 _\n",
		"rm x\r  ls\x1b[K":               `rm x\u{d}  ls\u{1b}[K`,
		"a\r\nb\r\r\nc\r":                "a\nb" + `\u{d}` + "\nc" + `\u{d}`,
		"a\u202eb\u009bc\x00\b":          `a\u{202e}b\u{9b}c\u{0}\u{8}`,
		"a\xff\xfeb\x9b31m\xe2\x82":      "a\ufffdb\ufffd31m\ufffd",
		"\xff\ufffd\xff":                 "\ufffd\ufffd\ufffd",
		"":                               "",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// Without hidden characters, cleaning is strings.ToValidUTF8.
func TestB_CleanTextReplacesRuns(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "漢", "\xff", "\xe2", "\xe2\x82",
			"\xf0\x9f", "\ufffd", "\n"})).Draw(t, "text"), "")
		if got, want := Text(text), strings.ToValidUTF8(text, "\ufffd"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	})
}

// bits are parts of sequences, so that many random texts are almost sequences.
var bits = []string{"\x1b", "[", "]", "P", "_", "\\", "0", ";", "m", "31", " ", "\a", "\b", "\r", "\n", "\t", "a", "é",
	"漢", "\x9b", "\x9c",
	"\x9d", "\u009b", "\u009c", "\xe2", "\x80", "\x8b", "\u200b", "\xff", "\x00", "\x7f", "_\bx", "x\bx", "\x1b[0m",
	"\x1b]0;t\a", "😀", "\ufffd"}

func TestB_CleanProperties(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "bits"), "")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(raw)), 0, 5).Draw(t, "cuts")
		slices.Sort(cuts)
		want := Terminal(raw)
		if got := inPieces(raw, cuts...); got != want {
			t.Fatalf("%q cut at %v became %q, whole %q", raw, cuts, got, want)
		}
		for _, clean := range []string{want, Text(raw)} {
			if problem := dirty(clean); problem != "" {
				t.Fatalf("%q became %q, which holds %s", raw, clean, problem)
			}
			if Terminal(clean) != clean || Text(clean) != clean {
				t.Fatalf("%q became %q, which is not clean", raw, clean)
			}
		}
	})
}

// Each character alone, so that no shortcut in hidden is wrong.
func TestB_CleanEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		want := string(r)
		ignorable := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
		if ignorable && !strings.ContainsRune("\n\t\u200d\ufe0e\ufe0f", r) {
			want = string(appendEscape(nil, r))
		}
		const around = "0123456789"
		if got := Text(around + string(r) + around); got != around+want+around {
			t.Fatalf("%U became %q", r, got)
		}
	}
}

func TestB_TerminalEscapeCorpus(t *testing.T) {
	data, err := os.ReadFile("../../shared/corpora/terminal_escape/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the shared corpora are not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The cases list what must not be in the text; this test decides what is.
	want := map[string]string{
		"esc_00": "red", "esc_01": "", "esc_02": "", "esc_06": "", "esc_08": "", "esc_09": "", "esc_11": "a\nb",
		"esc_12": `good\u{8}\u{8}\u{8}\u{8}evil`, "esc_13": "hidden", "esc_15": `a\u{200b}b\u{feff}c`,
		"esc_16": `\u{e0049}\u{e0047}`,
		"esc_18": "", "esc_20": `\u{1b}]0;never terminated`, "esc_22": "\ufffd", "esc_23": "",
	}
	seen := 0
	for line := range bytes.Lines(data) {
		var c struct{ ID, Hex string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		seen++
		t.Run(c.ID, func(t *testing.T) {
			raw, err := hex.DecodeString(c.Hex)
			if err != nil {
				t.Fatal(err)
			}
			text, ok := want[c.ID]
			if !ok {
				t.Fatal("the case is not decided")
			}
			testTerminal(t, string(raw), text)
		})
	}
	if seen < len(want) {
		t.Errorf("%d cases, want %d", seen, len(want))
	}
}

func TestB_CleanTextAllocatesNothing(t *testing.T) {
	text := strings.Repeat("plain text, é 漢 😀\n", 1000)
	for name, clean := range map[string]func(string) string{"terminal": Terminal, "text": Text} {
		if n := testing.AllocsPerRun(10, func() { clean(text) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
