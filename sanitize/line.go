package sanitize

import "strings"

// maxLine limits what Line returns, in characters.
const maxLine = 500

// Line returns a text on one line, cleaned as by [Text] and cut if it is long. It cannot end an
// element that a prompt has around it: names of files and branches and subjects of commits are
// anybody's.
func Line(text string) string {
	text = strings.Join(strings.Fields(Text(text)), " ")
	text = strings.ReplaceAll(text, "</", "< /")
	if r := []rune(text); len(r) > maxLine {
		text = string(r[:maxLine]) + "..."
	}
	return text
}
