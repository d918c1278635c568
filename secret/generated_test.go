package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/secret"
)

var secretCases = flag.Int("secrets", 5_000, "generated cases of secrets in texts")

// generator makes texts with secrets.
type generator struct {
	*rand.Rand
	masker *secret.Masker
	values []string
}

// casesPerMasker counts the cases that use the same values.
const casesPerMasker = 500

// newGenerator returns a generator whose masker knows four random values.
func newGenerator(t *testing.T, dice *rand.Rand) *generator {
	g := &generator{dice, secret.New(), nil}
	for i := range 4 {
		value := g.value()
		if err := g.masker.Register(fmt.Sprintf("V%d", i), value); err != nil {
			t.Fatal(err)
		}
		g.values = append(g.values, value)
	}
	return g
}

// value returns a random secret.
func (g *generator) value() string {
	alphabets := []string{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "0123456789abcdef",
		"abc0-_", `a1!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`,
		"aA0 \t\n\"\\/%é", "äöüß€🔑日本x1", "+/=aZ9"}
	alphabet := []rune(alphabets[g.IntN(len(alphabets))])
	n := 8 + g.IntN(40)
	if g.IntN(100) == 0 {
		n = 200 + g.IntN(300)
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteRune(alphabet[g.IntN(len(alphabet))])
	}
	return "x" + b.String() + "z"
}

// filler returns a random text without secrets.
func (g *generator) filler() string {
	words := []string{" ", "\n", "word", "token=", "\"", `\`, `\n`, "%", "%20", `\u00`, `\\`, "{\"key\": ", "}", "=",
		"-", "0x", "é", "key: ", "YQ==", "616263", "://", "a@b", "["}
	var b strings.Builder
	for range g.IntN(12) {
		b.WriteString(words[g.IntN(len(words))])
	}
	if g.IntN(400) == 0 { // long enough for the filter
		b.WriteString(strings.Repeat("func (g *generator) filler() string { return x }\n", 700+g.IntN(20)))
	}
	return b.String()
}

// encoded returns a value in a random encoding: the part that depends on it alone, and what is
// around it in a longer encoded text.
func (g *generator) encoded(value string) (before, core, after string) {
	switch g.IntN(8) {
	case 0:
		return "", value, ""
	case 1, 2:
		return g.base64(value)
	case 3:
		text := hex.EncodeToString([]byte(value))
		if g.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		return "", text, ""
	case 4:
		return "", g.percent(value), ""
	case 5:
		return "", g.escaped(value), ""
	case 6:
		return "", g.escaped(g.escaped(value)), ""
	}
	before, core, after = g.base64(value)
	return before, g.percent(core), after
}

// base64 returns a value inside of a longer text in base64.
func (g *generator) base64(value string) (before, core, after string) {
	encodings := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding}
	front, back := make([]byte, g.IntN(7)), make([]byte, g.IntN(7))
	for i := range front {
		front[i] = byte(g.Uint32())
	}
	for i := range back {
		back[i] = byte(g.Uint32())
	}
	text := encodings[g.IntN(len(encodings))].EncodeToString([]byte(string(front) + value + string(back)))
	from, to := 8*len(front)/6, min((8*(len(front)+len(value))+5)/6, len(text))
	return text[:from], text[from:to], text[to:]
}

// percent returns a value with some of its bytes percent-encoded, and all that have to be.
func (g *generator) percent(value string) string {
	var b strings.Builder
	rate := g.IntN(4)
	for _, c := range []byte(value) {
		switch {
		case c == '%' || c >= 0x80 || c < ' ' || g.IntN(4) < rate:
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[g.IntN(2)], c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escaped returns a value as in a JSON string, with more escapes than are needed.
func (g *generator) escaped(value string) string {
	var b strings.Builder
	rate := g.IntN(4)
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\t': `\t`, '/': `\/`}
	for _, c := range value {
		must := c == '"' || c == '\\' || c < ' '
		switch {
		case must && g.IntN(2) == 0 || c == '/' && g.IntN(2) == 0:
			b.WriteString(short[c])
		case c > 0xffff && g.IntN(4) < rate:
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		case must || c <= 0xffff && g.IntN(4) < rate:
			fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[g.IntN(2)], c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// text returns a text with secrets, and what it has to become.
func (g *generator) text() (text, want string) {
	for range 1 + g.IntN(3) {
		i := g.IntN(len(g.values))
		filler := g.filler()
		// it would belong to an escape behind it
		if strings.HasSuffix(filler, `\`) || strings.HasSuffix(filler, "%") || strings.HasSuffix(filler, `\u00`) {
			filler += "."
		}
		before, core, after := g.encoded(g.values[i])
		text += filler + before + core + after
		want += filler + before + fmt.Sprintf("[secret V%d]", i) + after
	}
	filler := g.filler()
	return text + filler, want + filler
}

// sink passes a text through one of the ways out of a masker and returns what comes out.
func (g *generator) sink(t *testing.T, text string) (name, out string) {
	switch g.IntN(6) {
	case 0:
		return "String", g.masker.String(text)
	case 1:
		var b strings.Builder
		s := g.masker.Stream()
		for rest := text; rest != ""; {
			n := 1 + g.IntN(min(len(rest), 1+g.IntN(40)))
			b.WriteString(s.Next(rest[:n]))
			rest = rest[n:]
		}
		return "Stream", b.String() + s.Flush()
	case 2:
		var b bytes.Buffer
		w := g.masker.Writer(&b)
		for rest := []byte(text); len(rest) > 0; {
			n := 1 + g.IntN(min(len(rest), 1+g.IntN(400)))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			clear(rest[:n]) // a writer keeps nothing of what it was given
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return "Writer", b.String()
	case 3:
		return "Error", g.masker.Error(errors.New(text)).Error()
	case 4:
		var b bytes.Buffer
		slog.New(g.masker.Log(slog.NewJSONHandler(&b, nil))).Info("m", "text", text)
		var record struct{ Text string }
		if err := json.Unmarshal(b.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		return "Log", record.Text
	}
	data, err := json.Marshal([]string{text})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if err := json.Unmarshal(g.masker.JSON(data), &list); err != nil {
		t.Fatalf("%q became no JSON: %v", data, err)
	}
	return "JSON", list[0]
}

// TestL7_GeneratedCases checks that nothing of a secret is left in any way out, and that everything
// else is left as it was.
func TestL7_GeneratedCases(t *testing.T) {
	var g *generator
	formats, dice := secret.New(), seed.New(t)
	for i := range *secretCases {
		if i%casesPerMasker == 0 {
			g = newGenerator(t, dice)
		}
		text, want := g.text()
		if !strings.Contains(text, "\xff") && strings.ToValidUTF8(text, "") != text {
			continue // JSON cannot have it
		}
		if formats.String(text) != text {
			continue // by chance there is a key of a known format, too
		}
		name, got := g.sink(t, text)
		if got != want {
			t.Fatalf("case %d: %s made\n%q of\n%q, want\n%q\nvalues %q", i, name, got, text, want, g.values)
		}
		for _, value := range g.values {
			if how := leak(got, value); how != "" {
				t.Fatalf("case %d: %s left %q as %s in %q", i, name, value, how, got)
			}
		}
	}
	t.Logf("%d cases", *secretCases)
}

// leak decodes a text in all encodings and returns the one in which it has the value, or "".
func leak(text, value string) string {
	if strings.Contains(text, value) {
		return "plain text"
	}
	unescaped := unescape(text)
	for name, decoded := range map[string]string{"percent": unpercent(text), "JSON": unescaped,
		"JSON twice": unescape(unescaped), "percent in JSON": unpercent(unescaped)} {
		if strings.Contains(decoded, value) {
			return name
		}
	}
	for run := range strings.FieldsFuncSeq(strings.NewReplacer("-", "+", "_", "/").Replace(unpercent(text)),
		func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", r)
		}) {
		for shift := range min(4, len(run)) {
			part := run[shift:]
			plain, _ := base64.RawStdEncoding.DecodeString(part[:len(part)-len(part)%4])
			if strings.Contains(string(plain), value) {
				return "base64"
			}
			part = part[:len(part)-len(part)%2]
			if bytes, err := hex.DecodeString(part); err == nil && strings.Contains(string(bytes), value) {
				return "hex"
			}
		}
	}
	return ""
}

// unpercent decodes what is percent-encoded.
func unpercent(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescape decodes the escapes of JSON.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		for _, n := range []int{12, 6, 2} { // a pair of surrogates, a code point, a short escape
			var s string
			if text[i] == '\\' && i+n <= len(text) && json.Unmarshal([]byte(`"`+text[i:i+n]+`"`), &s) == nil &&
				(n == 2 || text[i+1] == 'u') &&
				(n != 12 || len(s) == 4) {
				b.WriteString(s)
				i += n
			}
			if i >= len(text) {
				return b.String()
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
