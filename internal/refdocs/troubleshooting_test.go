package refdocs

import (
	"regexp"
	"sort"
	"strings"
	"testing"
	"unicode"
)

// The code makes each message in docs/troubleshooting.md, and each is followed by what to do.
func TestQ4_Troubleshooting(t *testing.T) {
	code := textsOf(source(t))
	entry := regexp.MustCompile("(?m)^### `(.*)`$")
	page := read(t, "docs/troubleshooting.md")
	places := entry.FindAllStringSubmatchIndex(page, -1)
	if len(places) < 50 {
		t.Errorf("only %d messages", len(places))
	}
	for i, at := range places {
		message, end := page[at[2]:at[3]], len(page)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		if missing := code.missing(message); missing != "" {
			t.Errorf("no code makes %q of the message %q", missing, message)
		}
		if !strings.Contains(page[at[1]:end], "\nDo: ") {
			t.Errorf("the page does not say what to do about %q", message)
		}
	}
}

// texts are the texts of the code, and their pieces between what differs.
type texts struct {
	all    string
	pieces map[string]bool
}

func textsOf(src *Source) *texts {
	t := &texts{all: strings.Join(src.Texts(), "\n"), pieces: map[string]bool{}}
	t.all += strings.ReplaceAll(t.all, "_", " ") // names of kinds are printed so
	for _, line := range strings.Split(t.all, "\n") {
		for _, piece := range strings.Split(line, "...") {
			if piece = strings.TrimSpace(piece); strings.ContainsAny(piece, " -") || !strings.ContainsFunc(piece,
				unicode.IsLetter) { // no single words
				t.pieces[piece] = true
			}
		}
	}
	return t
}

// missing returns a part of a message that the code does not make, or "". The parts are between the
// dots. What the program says about a failed request is composed of short words, which are between
// brackets and commas.
func (t *texts) missing(message string) string {
	composed := regexp.MustCompile(`[()]|, |[0-9]+`)
	for _, part := range strings.Split(message, "...") {
		parts := []string{part}
		if strings.Contains(part, "HTTP") || strings.HasPrefix(part, ")") {
			parts = composed.Split(part, -1)
		}
		for _, part := range parts {
			if part = strings.TrimSpace(part); !t.make(part) {
				return part
			}
		}
	}
	return ""
}

// make reports whether a text can be put together from pieces of the code: whole ones, or the
// beginning of one if that is long.
func (t *texts) make(text string) bool {
	const long = 16 // shorter beginnings are in some text by chance
	n := sort.Search(len(text), func(n int) bool { return !strings.Contains(t.all, text[:n+1]) })
	if n == len(text) || n >= long && t.make(strings.TrimSpace(text[n:])) {
		return true
	}
	for n := len(text) - 1; n > 0; n-- {
		if t.pieces[strings.TrimSpace(text[:n])] && t.make(strings.TrimSpace(text[n:])) {
			return true
		}
	}
	return false
}
