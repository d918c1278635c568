package render

// Style says how text looks where it is shown. The zero value is plain text.
type Style struct {
	// Colour allows colours, as SGR sequences.
	Colour bool
	// Width is how many columns a line may have; 0 means any number.
	Width int
	// Rich says that the text is for a screen: answers are rendered as Markdown, and what calls
	// change is shown as diffs. Without it answers are shown as they are.
	Rich bool
}

// The colours of a terminal (SGR).
const (
	bold      = "1"
	dim       = "2"
	italic    = "3"
	underline = "4"
	crossed   = "9"
	red       = "31"
	green     = "32"
	amber     = "33"
	cyan      = "36"

	reset = "\x1b[0m"
)

// paint returns a text in a colour.
func (s Style) paint(sgr, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + reset
}
