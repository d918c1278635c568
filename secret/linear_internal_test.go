package secret

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

// hardText is a text, for each length, that might take more time than in proportion to its length.
type hardText struct {
	name, value string // a registered value, if there is one
	text        func(n int) string
}

// hardTexts returns the texts that repeat the beginning of a key or of a value.
func hardTexts() []hardText {
	repeat := func(s string) func(int) string { return func(n int) string { return strings.Repeat(s, n/len(s)) } }
	lines := func(s string) string {
		var b strings.Builder
		for ; s != ""; s = s[min(76, len(s)):] {
			b.WriteString(s[:min(76, len(s))] + "\n")
		}
		return b.String()
	}
	chars := strings.Repeat("Ab1Cd2Ef3Gh4", 6)
	var hard []hardText
	for _, s := range []string{"sk-ant-", "github_pat_", "glpat-", "xoxb-1", "eyJ", "eyJaaaaaaaa.", "://a:b", "Bearer ",
		"uthorization=basic ", "AKIA", "hooks.slack.com/services/T",
		"-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + chars[:64] + "\n",
		"sk-ant-" + chars + " ", "\\", "%", "%61", `\u0061`} {
		hard = append(hard, hardText{fmt.Sprintf("%.30q", s), "", repeat(s)})
	}
	for _, period := range []string{"a", "abcdefg\n"} {
		value := strings.Repeat(period, MaxLength/len(period)-2) + "x"
		add := func(name string, encode func(string) string) {
			hard = append(hard, hardText{fmt.Sprintf("%s of %q", name, period), value,
				func(n int) string { return encode(strings.Repeat(period, n/len(period))) }})
		}
		add("plain", func(s string) string { return s })
		add("base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })
		add("lines of base64", func(s string) string { return lines(base64.StdEncoding.EncodeToString([]byte(s))) })
		add("hex", func(s string) string { return hex.EncodeToString([]byte(s)) })
		add("lines", lines)
		for _, format := range []string{"%%%02x", `\u%04x`, `\\u%04x`, `\u0025%02x`} {
			add(format, func(s string) string {
				var b strings.Builder
				for _, c := range []byte(s) {
					fmt.Fprintf(&b, format, c)
				}
				return b.String()
			})
		}
		add("some escapes", func(s string) string { return strings.ReplaceAll(s, strings.Repeat("a", 50), "%61") })
	}
	return hard
}

// counted returns a masker and what counts its steps.
func (h hardText) counted(t testing.TB) (*Masker, *int) {
	t.Helper()
	m := New()
	if h.value != "" {
		if err := m.Register("HARD", h.value); err != nil {
			t.Fatal(err)
		}
	}
	steps := new(int)
	m.current().steps = steps
	return m, steps
}

// Masking looks at each character a bounded number of times, even if the beginning of a key or
// value is repeated.
func TestL7_LinearTime(t *testing.T) {
	for _, h := range hardTexts() {
		m, steps := h.counted(t)
		text := h.text(1 << 14)
		m.String(text)
		if *steps > 2*enough*len(text) {
			t.Errorf("%s: %d steps for %d bytes", h.name, *steps, len(text))
		}
	}
}

// A stream in small pieces does not look at all that is held back with each of them.
func TestL7_LinearStream(t *testing.T) {
	for _, h := range hardTexts() {
		m, steps := h.counted(t)
		text := h.text(1 << 11)
		m.String(text)
		whole := *steps
		*steps = 0
		s := m.Stream()
		for rest := text; rest != ""; rest = rest[min(20, len(rest)):] {
			s.Next(rest[:min(20, len(rest))])
		}
		s.Flush()
		if *steps > 60*whole {
			t.Errorf("%s: %d steps for the whole text, %d in pieces", h.name, whole, *steps)
		}
	}
}

// BenchmarkL7_Linear reports how much longer it takes to mask a text of four times the length.
func BenchmarkL7_Linear(b *testing.B) {
	for _, h := range hardTexts() {
		b.Run(h.name, func(b *testing.B) {
			m, _ := h.counted(b)
			short, long := h.text(1<<14), h.text(1<<16)
			best := [2]time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for i, text := range []string{short, long} {
					begin := time.Now()
					m.String(text)
					best[i] = min(best[i], time.Since(begin))
				}
			}
			b.ReportMetric(float64(best[1].Microseconds())/1000, "ms-for-64-KiB")
			b.ReportMetric(float64(best[1])/float64(best[0]), "x-for-4x")
			b.ReportMetric(0, "ns/op")
		})
	}
}
