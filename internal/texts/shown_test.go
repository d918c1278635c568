package texts_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/internal/texts"
)

func TestI10_Shown(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt":               "a.txt",
		"dir with space/ü":    "dir with space/ü",
		"\u00a0日本語":           "\u00a0日本語",
		`say "hi"\n`:          `say "hi"\n`,
		"👩\u200d💻\ufe0f.txt":  "👩\u200d💻\ufe0f.txt",
		"":                    "",
		"a\nb":                `"a\nb"`,
		"a\tb":                `"a\tb"`,
		"\x1b[31mred":         `"\x1b[31mred"`,
		"c1\u0085":            `"c1\u0085"`,
		"bidi\u202etxt.exe":   `"bidi\u202etxt.exe"`,
		"bad\xff":             `"bad\xff"`,
		`"quoted"`:            `"\"quoted\""`,
		"line\u2028separator": `"line\u2028separator"`,
		"tag\U000e0041":       `"tag\U000e0041"`,
	} {
		got := texts.Shown(name)
		if got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
		if got != name {
			if back, err := strconv.Unquote(got); err != nil || back != name {
				t.Errorf("%s means %q, %v, want %q", got, back, err, name)
			}
		}
	}
}

// Names with characters that look blank are quoted, and name the same file.
func TestU20_BlankNames(t *testing.T) {
	for name, want := range map[string]string{
		"a\u2800b\U0001d159": `"a\u2800b\U0001d159"`,
		"\u3164":             `"\u3164"`,
		"\uffa0.txt":         `"\uffa0.txt"`,
		"한국어.txt":            "한국어.txt",
	} {
		got := texts.Shown(name)
		if back, err := strconv.Unquote(got); got != want || got != name && (err != nil || back != name) {
			t.Errorf("%q is shown as %s, which means %q, %v; want %s", name, got, back, err, want)
		}
	}
}

func TestI10_ErrorsShowNames(t *testing.T) {
	err := fmt.Errorf("searching: %w", &fs.PathError{Op: "open", Path: "a\nfake: line", Err: fs.ErrPermission})
	if got, want := texts.Error(err), `searching: open "a\nfake: line": permission denied`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, err := range []error{errors.New("plain\ntext"), &fs.PathError{Op: "open", Path: "plain", Err: fs.ErrExist}} {
		if got := texts.Error(err); got != err.Error() {
			t.Error(got)
		}
	}
}
