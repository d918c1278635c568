package secret_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/secret"
)

// Text is shown at once unless it may be the beginning of a secret. A single letter may be the one
// that has the first bits of it in base64.
func TestL7_HoldBack(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	for _, c := range []struct{ pieces, shown []string }{
		{[]string{"plain text ", "of words, ", "and\n", "more"},
			[]string{"plain text ", "of words, ", "and\n", "more"}},
		{[]string{"a cana", "st", "a"}, []string{"a ", "canas", "ta"}},
		{[]string{"x canary/host", "+secret", "~7f3a9c", "?!"}, []string{"x ", "", "", "[secret CANARY]!"}},
		{[]string{"x %6", "3anary%2Fhos", "ted"}, []string{"x ", "", "%63anary%2Fhoste"}},
		{[]string{"key gh", "p_", strings.Repeat("a", 36), "b", " end"},
			[]string{"key ", "", "", "", "[secret github-token] en"}},
		{[]string{"high", "ghost"}, []string{"hig", "hghos"}},
	} {
		s := m.Stream()
		for i, piece := range c.pieces {
			if got := s.Next(piece); got != c.shown[i] {
				t.Errorf("%q: after piece %d %q is shown, want %q", c.pieces, i, got, c.shown[i])
			}
		}
		if rest := s.Flush(); len(rest) > 1 {
			t.Errorf("%q: %q is left", c.pieces, rest)
		}
	}
}

func TestL7_FlushShowsTheRest(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	s := m.Stream()
	if got := s.Next("the canary"); got != "the " {
		t.Errorf("%q", got)
	}
	if got := s.Flush(); got != "canary" {
		t.Errorf("%q", got)
	}
	if got := s.Next(canary) + s.Flush(); got != "[secret CANARY]" {
		t.Errorf("the stream cannot be used again: %q", got)
	}
}

func TestL7_Writer(t *testing.T) {
	m := newMasker(t, "CANARY", canary)
	var out bytes.Buffer
	w := m.Writer(&out)
	for _, c := range []byte("before " + canary + " after can") {
		if n, err := w.Write([]byte{c}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Flush(); err != nil || out.String() != "before [secret CANARY] after can" {
		t.Errorf("%q, %v", out.String(), err)
	}
	broken := m.Writer(brokenWriter{})
	if _, err := broken.Write([]byte("text ")); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// FuzzL7_Stream checks that a stream gives what masking the whole text gives, wherever the text is
// cut.
func FuzzL7_Stream(f *testing.F) {
	for _, text := range []string{
		"x " + canary + " y", "%63anary%2fhost", `\u0063anary\/host+secret~7f3a9c?`,
		"sk-ant-api03-" + strings.Repeat("A", 95) + ".",
		"-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("L", 64) + "\n-----END RSA PRIVATE KEY-----\nx",
		"https://user:hunter2pass@example.com/x",
		"Authorization: Basic dXNlcjpodW50ZXIy\n", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + strings.Repeat("k", 43),
		"[secret CANARY]", "taskhost-12-xoxb-1",
		strings.Repeat("some words of text, then ", 20) + "AKIAHHHHHHHHHHHHHHHH", "2f686f73742b", "Y2FuYXJ5L2hvc3Q",
	} {
		f.Add(text, uint64(0x8421), "shorter1")
	}
	f.Fuzz(func(t *testing.T, text string, cuts uint64, value string) {
		m := newMasker(t, "CANARY", canary)
		if m.Register("VALUE", value) != nil && len(value) > 1000 {
			t.Skip("the value cannot be registered")
		}
		checkStream(t, m, text, cuts)
	})
}

// checkStream fails the test if a stream of the text, cut by the bits of cuts, differs from the
// whole.
func checkStream(t *testing.T, m *secret.Masker, text string, cuts uint64) {
	t.Helper()
	want := m.String(text)
	s := m.Stream()
	var got strings.Builder
	from := 0
	for i := range len(text) {
		if cuts>>(i*7%64)&1 != 0 {
			got.WriteString(s.Next(text[from:i]))
			from = i
		}
	}
	got.WriteString(s.Next(text[from:]))
	got.WriteString(s.Flush())
	if got.String() != want {
		t.Errorf("the stream of %q gives %q, the whole %q", text, got.String(), want)
	}
}

// What is remembered of a text without secrets does not count any more once another secret is
// registered.
func TestL7_RegisteredAfterTheTextWasSeen(t *testing.T) {
	const value = "late-secret-4711"
	text := strings.Repeat("some words, ", 500) + value + strings.Repeat(" more words", 500)
	for name, seen := range map[string]func(m *secret.Masker, register func()) (masked string){
		"a text": func(m *secret.Masker, register func()) string {
			m.String(text)
			register()
			return m.String(text)
		},
		"a text that was written": func(m *secret.Masker, register func()) string {
			w := m.Stream().Twin().Writer(io.Discard)
			if _, err := io.WriteString(w, text); err != nil {
				t.Error(err)
			}
			if err := w.Flush(); err != nil {
				t.Error(err)
			}
			register()
			return m.String(text)
		},
		"a text that is being written": func(m *secret.Masker, register func()) string {
			w := m.Stream().Twin().Writer(io.Discard)
			if _, err := io.WriteString(w, text); err != nil {
				t.Error(err)
			}
			register()
			if err := w.Flush(); err != nil {
				t.Error(err)
			}
			return m.String(text)
		},
		"a piece of a twin": func(m *secret.Masker, register func()) string {
			s := m.Stream().Twin()
			twin := s.Twin()
			s.Next(text)
			register()
			return twin.Next(text) + twin.Flush()
		},
	} {
		m := secret.New()
		masked := seen(m, func() {
			if err := m.Register("LATE", value); err != nil {
				t.Error(err)
			}
		})
		if strings.Contains(masked, value) || !strings.Contains(masked, "[secret LATE]") {
			t.Errorf("%s is not masked", name)
		}
	}
}
