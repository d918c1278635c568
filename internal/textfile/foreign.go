package textfile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/shquote"
)

// Foreign returns the first character of a text that is not ASCII, or "". Such text cannot be put
// into a file whose encoding is [Unknown].
func Foreign(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			_, size := utf8.DecodeRuneInString(text[i:])
			return text[i : i+size]
		}
	}
	return ""
}

// ForeignIn returns the first character that is not ASCII in the lines of a text that are not lines
// of the part that it replaces.
func ForeignIn(text, replaced string) string {
	if Foreign(text) == "" {
		return ""
	}
	there := map[string]bool{}
	for line := range strings.Lines(replaced) {
		there[strings.TrimRight(line, "\r\n")] = true
	}
	for line := range strings.Lines(text) {
		if char := Foreign(line); char != "" && !there[strings.TrimRight(line, "\r\n")] {
			return char
		}
	}
	return ""
}

// Refusal returns why text with a character cannot be put into a file whose encoding is [Unknown]
// and what to do instead. It follows the name of the file.
func Refusal(name, char string) string {
	return fmt.Sprintf(
		"is not UTF-8, so only ASCII text can be put into it; %q would be in another encoding than the rest. "+
			"Nothing was changed. Leave such text out, or convert the file to UTF-8, edit it, and convert it back "+
			"with the encodings exchanged: `%s`, where ENCODING is the file's, such as CP932, GBK or ISO-8859-1",
		char,
		convert("ENCODING", name),
	)
}

// RefusalUTF16 returns why a file in UTF-16 cannot be changed and what to do instead. It follows
// the name of the file.
func RefusalUTF16(name string) string {
	return fmt.Sprintf(
		"is text in UTF-16, which cannot be edited. Nothing was changed. Convert it to UTF-8, edit it, and convert it "+
			"back with the encodings exchanged: `%s`",
		convert("UTF-16", name),
	)
}

// convert returns the command that converts a file to UTF-8. The file keeps its mode and its links.
func convert(from, name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	file := shquote.Words(name)
	return fmt.Sprintf(`t=$(mktemp) && iconv -f %s -t UTF-8 %s > "$t" && cat "$t" > %s && rm "$t"`, from, file, file)
}

// MayBeInside reports whether an offset of a text whose encoding is [Unknown] may be inside of a
// character. In encodings such as CP932, GBK and Big5 the later bytes of a character can be those
// of ASCII.
func MayBeInside(text string, at int) bool {
	return at > 0 && at < len(text) && text[at-1] >= utf8.RuneSelf && text[at] >= '0'
}
