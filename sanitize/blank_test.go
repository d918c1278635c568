package sanitize

import "testing"

// Characters that look blank are escapes in what people decide about. Spaces and emoji stay.
func TestU20_Blanks(t *testing.T) {
	for text, want := range map[string]string{
		"rm\u2800-rf": `rm\u{2800}-rf`,
		"a\u115fb\u1160c\u3164d\uffa0e\U0001d159f\U00013441": `a\u{115f}b\u{1160}c\u{3164}d\u{ffa0}e\u{1d159}f\u{13441}`,
		"\u2801 \u00a0\u3000 👩\u200d💻\ufe0f 한국어 é\n\t":       "\u2801 \u00a0\u3000 👩\u200d💻\ufe0f 한국어 é\n\t",
	} {
		if got := Blanks(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, r := range "\u115f\u1160\u17b4\u3164\uffa0\u2800\U00016fe4" {
		if !Blank(r) {
			t.Errorf("%U looks blank", r)
		}
	}
}
