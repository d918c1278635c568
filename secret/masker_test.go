package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/secret"
)

const canary = "canary/host+secret~7f3a9c?"

// newMasker returns a Masker with one value.
func newMasker(t testing.TB, name, value string) *secret.Masker {
	t.Helper()
	m := secret.New()
	if err := m.Register(name, value); err != nil {
		t.Fatal(err)
	}
	return m
}

// quoted returns a text escaped as in a JSON string.
func quoted(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(b), `"`)
}

// escapeAll returns a text with each of its bytes in a format.
func escapeAll(format, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

func TestL7_Encodings(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	for name, text := range map[string]string{
		"raw":                   canary,
		"URL-encoded":           url.QueryEscape(canary),
		"path-escaped":          url.PathEscape(canary),
		"all percent":           escapeAll("%%%02x", canary),
		"some percent":          strings.ReplaceAll(canary, "h", "%68"),
		"JSON":                  strings.ReplaceAll(canary, "/", `\/`),
		"all of JSON":           escapeAll(`\u%04x`, canary),
		"JSON twice":            quoted(t, escapeAll(`\u%04X`, canary)),
		"hex":                   hex.EncodeToString([]byte(canary)),
		"HEX":                   strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"percent in JSON":       strings.ReplaceAll(url.QueryEscape(canary), "%", `\u0025`),
		"base64, then percent":  url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("???" + canary))),
		"base64 with escapes/+": strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte("~~~"+canary)), "/", `\/`),
	} {
		got := m.String("before " + text + " after")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") ||
			!strings.Contains(got, "[secret CANARY]") || len(got) > 45 {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		for shift := range 4 {
			text := enc.EncodeToString([]byte("user"[:shift] + canary + "rest of the text"))
			got := m.String(text)
			at := strings.Index(got, "[secret CANARY]")
			rest := strings.TrimPrefix(got[max(at, 0):], "[secret CANARY]")
			if at != 8*shift/6 || !strings.HasPrefix(text, got[:at]) || rest != text[(8*(shift+len(canary))+5)/6:] {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

func TestL7_Characters(t *testing.T) {
	const value = "pässwörd \"quoted\"\\\n\U0001f511 end"
	m := newMasker(t, "K", value)
	once := quoted(t, value)
	for _, text := range []string{value, once, quoted(t, once), url.QueryEscape(value), url.PathEscape(value),
		strings.NewReplacer("ä", `\u00e4`, "ö", `\u00F6`, "\U0001f511", `\ud83d\udd11`).Replace(once)} {
		if got := m.String(text); got != "[secret K]" {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The last character of base64 is masked also if it alone is escaped.
func TestL7_EscapedTail(t *testing.T) {
	m := newMasker(t, "TAIL", "xfxF7bF8G2z")
	if got := m.String("Y9cQl4ZnhGN2JGOEcye%71-GG"); got != "Y9cQ[secret TAIL]-GG" {
		t.Error(got)
	}
}

func TestL7_Register(t *testing.T) {
	m := secret.New()
	for value, want := range map[string]string{
		"1234567":                   "fewer than 8 bytes",
		" 1234567\n":                "fewer than 8 bytes",
		strings.Repeat("x", 65_537): "at most 65536",
		"[secret ":                  "", // too short without its space
		"secret A_NAME":             "placeholder",
	} {
		err := m.Register("A_NAME", value)
		if err == nil || !strings.Contains(err.Error(), "A_NAME") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "1234567") {
			t.Errorf("%.20q: %v", value, err)
		}
	}
	if err := m.Register("SHORT", "1"); !errors.Is(err, secret.ErrTooShort) {
		t.Error(err)
	}
	if err := m.Register("a b]c\nd", "  some-value-1\n"); err != nil {
		t.Fatal(err)
	}
	if got := m.String("<some-value-1>"); got != "<[secret abcd]>" {
		t.Error(got)
	}
	var none *secret.Masker
	if none.String("text") != "text" || none.Placeholder("[secret X]") != "" {
		t.Error("a nil Masker changes text")
	}
	none.Recall("[secret X]")
}

// A later value is masked in a stream that has begun.
func TestL7_RegisterAtAnyTime(t *testing.T) {
	m := secret.New()
	s := m.Stream()
	if got := s.Next("first-value-1 "); got != "first-value-1 " {
		t.Errorf("%q", got)
	}
	if err := m.Register("ONE", "first-value-1"); err != nil {
		t.Fatal(err)
	}
	if got := s.Next("first-value-1 ") + s.Flush(); got != "[secret ONE] " {
		t.Errorf("%q", got)
	}
}

// Of a value of several lines, each long line is masked, as where something stands between the
// lines.
func TestL7_Lines(t *testing.T) {
	line := strings.Repeat("Zm9v", 10)
	m := newMasker(t, "LINES", "short\n"+line+"1\n"+line+"2\nwith spaces "+line)
	if got, want := m.String("1: short\n2: "+line+"1\n3: "+line+"2\n"),
		"1: short\n2: [secret LINES]\n3: [secret LINES]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestL7_Overlap(t *testing.T) {
	m := newMasker(t, "LONG", "abcdefgh12345678")
	for name, value := range map[string]string{"HEAD": "abcdefgh", "TAIL": "12345678ijkl"} {
		if err := m.Register(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"abcdefgh12345678":     "[secret LONG]",
		"abcdefgh12345678ijkl": "[secret LONG]",
		"abcdefgh123":          "[secret HEAD]123",
		"abcdefghabcdefgh":     "[secret HEAD][secret HEAD]",
	} {
		if got := m.String(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
		if got := m.String(want); got != want {
			t.Errorf("%s was masked again: %s", want, got)
		}
	}
}

func TestL7_Error(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	err := m.Error(fmt.Errorf("open %s: %w", canary, fs.ErrNotExist))
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "open [secret CANARY]: file does not exist" {
		t.Error(err)
	}
	if plain := errors.New("plain"); m.Error(plain) != plain || m.Error(nil) != nil {
		t.Error("an error without a secret was changed")
	}
}

func TestL7_JSON(t *testing.T) {
	m := newMasker(t, "K", "nsecret\"value1")
	if err := m.Register("NUMBER", "1234567890"); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		`{"a": [1, "x\ny"], "b": null}`:                `{"a": [1, "x\ny"], "b": null}`,
		`{"a":"\nsecret\"value1","nsecret\"value1":2}`: `{"a":"\nsecret\"value1","[secret K]":2}`,
		`[1234567890, "n\u0073ecret\"value1 <"]`:       `["[secret NUMBER]", "[secret K] <"]`,
		`not json 1234567890`:                          `"not json [secret NUMBER]"`,
	} {
		if got := string(m.JSON(json.RawMessage(data))); got != want {
			t.Errorf("%s became %s, want %s", data, got, want)
		}
	}
}

func TestL7_Placeholder(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	text := "see [secret OTHER] and [secret CANARY]"
	if got := m.Placeholder(text); got != "" {
		t.Errorf("%q, although nothing was masked", got)
	}
	m.String(canary)
	if got := m.Placeholder(text); got != "[secret CANARY]" {
		t.Errorf("%q", got)
	}
}

// Long values are found in base64 and hexadecimal that is divided into lines, wherever a line ends,
// also in pieces.
func TestL7_LinesOfEncodings(t *testing.T) {
	value := "sk-ant-" + strings.Repeat("q8Zr3LmW", 12)
	m := new(secret.Masker)
	if err := m.Register("LONG", value); err != nil {
		t.Fatal(err)
	}
	for before := range 80 {
		text := strings.Repeat("x", before) + value + "yz\n"
		for name, encoded := range map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(text)),
			"xxd": hex.EncodeToString([]byte(text))} {
			for _, width := range []int{60, 64, 76} {
				for _, end := range []string{"\n", "\r\n"} {
					var lines strings.Builder
					for rest := encoded; rest != ""; rest = rest[min(width, len(rest)):] {
						lines.WriteString(rest[:min(width, len(rest))] + end)
					}
					masked := m.String(lines.String())
					left := strings.NewReplacer("\n", "", "\r", "", "[secret LONG]", "").Replace(masked)
					if !strings.Contains(masked, "[secret LONG]") || len(left) > len(encoded)-len(value)+8 {
						t.Fatalf("%s, %d characters a line, %d bytes before: %q is left", name, width, before, masked)
					}
					s := m.Stream()
					var streamed string
					for i := range lines.Len() {
						streamed += s.Next(lines.String()[i : i+1])
					}
					if streamed += s.Flush(); streamed != masked {
						t.Fatalf("in pieces it is %q, else %q", streamed, masked)
					}
				}
			}
		}
	}
}
